import os
import threading

from umiak.util.locks import fork_safe


def test_child_gets_a_free_lock(recwarn):
    # Newer Pythons warn of forking with threads, which is the point here.
    lock = fork_safe(threading.Lock())
    held, go = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            go.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    threading.Timer(0.05, go.set).start()
    child = os.fork()
    if child == 0:
        os._exit(0 if lock.acquire(timeout=5) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()
    assert lock.acquire(timeout=5)
    lock.release()
