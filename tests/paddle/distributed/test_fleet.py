"""fleet: topologies and their groups, strategies, and training through it."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.distributed import ParallelMode, fleet
from umiak import comm

FACTS = json.loads((Path(__file__).parents[2] / "data" / "topology.json").read_text())


def on(ranks, fn, *args):
    return comm.simulate(fn, ranks, *args, timeout=600.0)


# --- topologies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fact", FACTS["topologies"], ids=lambda f: "x".join(map(str, f["dims"])))
def test_topology(fact):
    names, dims = fact["names"], fact["dims"]
    grid = fleet.CommunicateTopology(names, dims)
    assert grid.world_size() == math.prod(dims) and grid.get_hybrid_group_names() == names
    for name, size in zip(names, dims):
        assert grid.get_dim(name) == grid.get_dim_size(name) == size
        assert grid.get_comm_list(name) == fact["comm"][name]
        assert grid.get_axis_list(name, 0) == fact["axis0"][name]
    for rank in range(grid.world_size()):
        assert list(grid.get_coord(rank)) == fact["coord"][rank]
        assert grid.get_rank(**grid.get_coord(rank)._asdict()) == rank
        if "pipe" in names:
            assert grid.get_rank_from_stage(rank, pipe=0) == fact["stage"][rank]


def test_planes():
    grid = fleet.CommunicateTopology(["data", "pipe", "model"], [2, 2, 2])
    assert grid.get_fused_ranks(["data", "model"]) == [[0, 1, 4, 5], [2, 3, 6, 7]]
    assert grid.get_fused_ranks(["model", "data"]) == [[0, 4, 1, 5], [2, 6, 3, 7]]
    for size in (1, 2, 3):
        for axes in itertools.permutations(["data", "pipe", "model"], size):
            planes = grid.get_fused_ranks(list(axes))
            assert sorted(r for plane in planes for r in plane) == list(range(8)) and {len(p) for p in planes} == {
                2**size
            }
            for plane in planes:  # the places on the other axes are the same
                rest = [n for n in ("data", "pipe", "model") if n not in axes]
                assert len({tuple(getattr(grid.get_coord(r), n) for n in rest) for r in plane}) == 1
    assert fleet.CommunicateTopology().world_size() == 1


def test_topology_refuses():
    grid = fleet.CommunicateTopology(["data", "model"], [2, 3])
    for call, match in (
        (lambda: grid.get_rank(data=1), "a place on each axis"),
        (lambda: grid.get_rank(data=1, model=3), "a place on each axis"),
        (lambda: grid.get_coord(6), "below 6"),
        (lambda: grid.get_coord(-1), "below 6"),
        (lambda: grid.get_dim("pipe"), "an axis of"),
        (lambda: grid.get_axis_list("model", 3), "below 3"),
        (lambda: fleet.CommunicateTopology(["a"], [1, 2]), "a size of at least 1 for each"),
        (lambda: fleet.CommunicateTopology(["a", "a"], [1, 2]), "different names"),
        (lambda: fleet.CommunicateTopology(["a"], [0]), "at least 1"),
    ):
        with pytest.raises(ValueError, match=match):
            call()


def view(groups, wanted):
    found = {}
    for name in wanted:
        value = getattr(groups, name, None)
        if name == "stage0":
            value = groups.get_rank_from_stage(0)
        elif callable(value):
            value = value()
        found[name] = value.ranks if isinstance(value, paddle.distributed.communication.group.Group) else value
    return found


@pytest.mark.parametrize("fact", FACTS["groups"], ids=lambda f: "x".join(map(str, f["dims"])))
def test_groups(fact):
    rows = fact["ranks"]

    def work():
        groups = fleet.HybridCommunicateGroup(fleet.CommunicateTopology(dims=fact["dims"]))
        return view(groups, rows[comm.world().rank])

    for found, row in zip(on(len(rows), work), rows):
        assert found == row


@pytest.mark.parametrize("fact", FACTS["experts"], ids=lambda f: "x".join(map(str, f["dims"])))
def test_expert_groups(fact):
    sizes, rows = dict(zip(fact["names"], fact["dims"])), fact["ranks"]

    def work():
        strategy = fleet.DistributedStrategy()
        strategy.hybrid_configs = {
            "dp_degree": sizes["data"],
            "pp_degree": sizes["pipe"],
            "sharding_degree": sizes["sharding"],
            "mp_degree": sizes["model"],
            "ep_degree": sizes["expert"],
            "moe_sharding_degree": sizes["moe_sharding"],
        }
        fleet.init(is_collective=True, strategy=strategy)
        with pytest.raises(NotImplementedError, match="dp_degree alone above 1"):
            fleet.distributed_model(nn.Linear(2, 2))
        return view(fleet.get_hybrid_communicate_group(), rows[comm.world().rank])

    for found, row in zip(on(len(rows), work), rows):
        assert found == row


def test_context_groups():
    def work():
        groups = fleet.HybridCommunicateGroup(fleet.CommunicateTopology(dims=[1, 2, 1, 1, 2, 2]))
        return (
            groups.get_context_parallel_group().ranks,
            groups.get_context_parallel_rank(),
            groups.get_cp_mp_parallel_group().ranks,
            groups.get_dp_cp_parallel_group().ranks,
            groups.get_parallel_mode(),
            groups.create_fuse_group(["pipe", "context"])[0],
        )

    found = on(8, work)
    assert found[0] == ([0, 2], 0, [0, 1, 2, 3], [0, 2], ParallelMode.PIPELINE_PARALLEL, [0, 2, 4, 6])
    assert found[7] == ([5, 7], 1, [4, 5, 6, 7], [5, 7], ParallelMode.PIPELINE_PARALLEL, [1, 3, 5, 7])


def test_groups_talk():
    def work():
        groups = fleet.HybridCommunicateGroup(fleet.CommunicateTopology(dims=[2, 1, 1, 1, 1, 2]))
        sums = []
        for group in (groups.get_data_parallel_group(), groups.get_model_parallel_group()):
            x = paddle.to_tensor([comm.world().rank])
            paddle.distributed.all_reduce(x, group=group)
            sums.append(x.item())
        return sums

    assert on(4, work) == [[2, 1], [4, 1], [2, 5], [4, 5]]


def test_neighbours_in_a_pipeline():
    def work():
        groups = fleet.HybridCommunicateGroup(fleet.CommunicateTopology(dims=[1, 3, 1, 1, 1, 2]))
        return [g.ranks for g in groups.get_p2p_groups()]

    found = on(6, work)
    for rank, (send_next, send_prev, recv_next, recv_prev) in enumerate(found):
        after, before = (rank + 2) % 6, (rank - 2) % 6
        assert set(send_next) == set(recv_next) == {rank, after}
        assert set(send_prev) == set(recv_prev) == {rank, before}

    with pytest.raises(ValueError, match="several pipeline stages"):
        fleet.HybridCommunicateGroup(fleet.CommunicateTopology()).get_p2p_groups()


def test_groups_refuse():
    with pytest.raises(ValueError, match="as many places as there are ranks"):
        fleet.HybridCommunicateGroup(fleet.CommunicateTopology(["data"], [2]))
    with pytest.raises(ValueError, match="moe_sharding_degree"):
        fleet.HybridCommunicateGroup(fleet.CommunicateTopology(), {"ep_degree": 2})


# --- strategies -------------------------------------------------------------------------------------------------------


def test_strategy_options():
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"mp_degree": 2}
    strategy.hybrid_configs = {"pp_degree": 3, "pp_configs": {"delay_scale_loss": True}}
    configs = strategy.hybrid_configs
    assert (configs["mp_degree"], configs["pp_degree"], configs["dp_degree"]) == (2, 3, -1)
    assert configs["pp_configs"]["delay_scale_loss"] and configs["pp_configs"]["use_batch_p2p_comm"]
    assert fleet.DistributedStrategy().hybrid_configs["mp_degree"] == 1  # no option is shared
    strategy.amp = False
    strategy.amp_configs = {"init_loss_scaling": 1024}
    strategy.fuse_grad_size_in_MB = 16
    strategy.nccl_comm_num = 3
    assert "fuse_grad_size_in_MB=16" in repr(strategy)


@pytest.mark.parametrize(
    ("name", "value", "error", "match"),
    [
        ("hybrid", {}, AttributeError, "requires one of"),
        ("hybrid_configs", {"dp_degre": 2}, ValueError, "keys of hybrid_configs"),
        ("hybrid_configs", {"dp_degree": "2"}, TypeError, "of type int"),
        ("hybrid_configs", {"mp_degree": 0}, ValueError, "at least 1"),
        ("hybrid_configs", {"mp_degree": -1}, ValueError, "at least 1"),
        ("hybrid_configs", {"mp_degree": True}, TypeError, "of type int"),
        ("hybrid_configs", {"mp_configs": {"nope": 1}}, ValueError, "keys of hybrid_configs\\['mp_configs'\\]"),
        ("hybrid_configs", {"order": ["dp", "dp"]}, ValueError, "different names"),
        ("hybrid_configs", {"order": ["xx"]}, ValueError, "different names"),
        ("hybrid_configs", [1], TypeError, "a dict"),
        ("amp", "yes", TypeError, "of type bool"),
        ("amp", True, ValueError, "not available yet"),
        ("sharding", True, ValueError, "not available yet"),
        ("fuse_grad_size_in_MB", 1.5, TypeError, "of type int"),
        ("amp_configs", {"nope": 1}, ValueError, "keys of amp_configs"),
    ],
)
def test_strategy_refuses(name, value, error, match):
    strategy = fleet.DistributedStrategy()
    before = dict(strategy.__dict__)
    with pytest.raises(error, match=match):
        setattr(strategy, name, value)
    assert strategy.__dict__ == before


def test_strategy_files(tmp_path):
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"dp_degree": 2, "order": ["mp", "dp"], "mp_configs": {"sync_mode": 'a "b" \\c'}}
    strategy.find_unused_parameters = True
    strategy.last_comm_group_size_MB = 2.5
    path = str(tmp_path / "strategy.prototxt")
    strategy.save_to_prototxt(path)
    other = fleet.DistributedStrategy()
    other.load_from_prototxt(path)
    assert other.__dict__ == strategy.__dict__ != fleet.DistributedStrategy().__dict__
    for text, match in (
        ("amp: true\n", "not available"),
        ("nope: 1\n", "a name of"),
        ("hybrid_configs {\n dp_degree: 2\n", "a '}' for every"),
        ("}\n", "a name"),
        ("= 3", "names with values"),
        ("amp_configs { nope: 1 }", "a name of"),
    ):
        (tmp_path / "bad").write_text(text)
        with pytest.raises(ValueError, match=match):
            fleet.DistributedStrategy().load_from_prototxt(str(tmp_path / "bad"))


def test_degrees():
    strategy = fleet.DistributedStrategy()
    assert strategy.axes(4) == (["data", "pipe", "sharding", "sep", "context", "model"], [4, 1, 1, 1, 1, 1])
    strategy.hybrid_configs = {"mp_degree": 2, "pp_degree": 2, "order": ["pp", "dp", "mp"]}
    assert strategy.axes(8) == (["pipe", "data", "model", "sharding", "sep", "context"], [2, 2, 2, 1, 1, 1])
    for world in (6, 2):
        with pytest.raises(ValueError, match=f"number of ranks, {world}"):
            strategy.axes(world)
    strategy.hybrid_configs = {"dp_degree": 1}
    with pytest.raises(ValueError, match="number of ranks, 8"):
        strategy.axes(8)


# --- the facade -------------------------------------------------------------------------------------------------------


def test_before_init():
    def work():
        with pytest.raises(RuntimeError, match=r"fleet.init\(\) before"):
            fleet.worker_index()
        with pytest.raises(RuntimeError, match=r"fleet.init\(\) before"):
            fleet.distributed_model(nn.Linear(2, 2))

    on(1, work)


def test_init_refuses():
    with pytest.raises(ValueError, match="is_collective=True"):
        fleet.init()
    with pytest.raises(TypeError, match="DistributedStrategy"):
        fleet.init(is_collective=True, strategy={})
    with pytest.raises(TypeError, match="a role maker"):
        fleet.init("worker", is_collective=True)
    with pytest.raises(ValueError, match="log_level"):
        fleet.init(is_collective=True, log_level="loud")
    with pytest.raises(ValueError, match="the launcher has told"):
        fleet.UserDefinedRoleMaker(is_collective=True, worker_num=3)
    with pytest.raises(ValueError, match="nothing else"):
        fleet.UserDefinedRoleMaker(is_collective=True, server_endpoints=["a:1"])
    with pytest.raises(ValueError, match="is_collective=True"):
        fleet.PaddleCloudRoleMaker()


def test_who_is_who():
    def work():
        role = fleet.UserDefinedRoleMaker(is_collective=True, current_id=comm.world().rank, worker_num=2)
        assert fleet.init(role) is fleet.fleet
        fleet.barrier_worker()
        assert fleet.is_worker() and not fleet.is_server() and not fleet.is_coordinator()
        assert fleet.worker_endpoints() == [] and fleet.worker_endpoints(True) == "" and fleet.node_num() == 1
        assert fleet.util.get_file_shard(["a", "b", "c"]) == (["a", "b"], ["c"])[comm.world().rank]
        assert fleet.util.all_gather(fleet.worker_index()) == [0, 1]
        assert fleet.all_reduce([1.5, 2.0], "max").tolist() == [1.5, 2.0]
        assert fleet.util.all_reduce([fleet.worker_index() + 1]).tolist() == [3]
        fleet.util.barrier()
        with pytest.raises(ValueError, match="a mode of"):
            fleet.util.all_reduce([1], "mean")
        with pytest.raises(ValueError, match="comm_world"):
            fleet.util.barrier("server")
        with pytest.raises(TypeError, match="a list"):
            fleet.util.get_file_shard("a")
        return fleet.worker_index(), fleet.worker_num(), fleet.is_first_worker()

    assert on(2, work) == [(0, 2, True), (1, 2, False)]


def test_print_on_rank(capsys):
    fleet.util.print_on_rank("here", 0)
    fleet.util.print_on_rank("there", 1)
    assert capsys.readouterr().out == "here\n"


def train(**options):
    strategy = fleet.DistributedStrategy()
    for name, value in options.items():
        setattr(strategy, name, value)
    fleet.init(is_collective=True, strategy=strategy)
    paddle.seed(1)
    norm = [nn.BatchNorm1D(8)] if options.get("sync_batch_norm") else []
    net = nn.Sequential(nn.Linear(4, 8), *norm, nn.Tanh(), nn.Linear(8, 2))
    model = fleet.distributed_model(net)
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters(), grad_clip=nn.ClipGradByGlobalNorm(0.1))
    assert fleet.distributed_optimizer(optimizer) is optimizer
    rank, world = fleet.worker_index(), fleet.worker_num()
    x = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
    for _ in range(3):
        model(paddle.to_tensor(x[rank::world])).pow(2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    return {n: p.numpy() for n, p in net.named_parameters()}


@pytest.mark.parametrize("options", [{}, {"find_unused_parameters": True}, {"sync_batch_norm": True}], ids=str)
@pytest.mark.parametrize("ranks", [2, 4])
def test_training(ranks, options):
    alone = on(1, lambda: train(**options))[0]
    for found in on(ranks, lambda: train(**options)):
        assert found.keys() == alone.keys()
        for name, value in alone.items():
            np.testing.assert_allclose(found[name], value, 2e-4, 1e-5, err_msg=name)


def test_settings_reach_the_wrapper():
    def work():
        strategy = fleet.DistributedStrategy()
        strategy.fuse_grad_size_in_MB, strategy.last_comm_group_size_MB = 3, 0.5
        strategy.find_unused_parameters = True
        fleet.init(is_collective=True, strategy=strategy)
        model = fleet.distributed_model(nn.Linear(2, 2))
        assert isinstance(model, paddle.DataParallel)
        assert (model.comm_buffer_size, model.last_comm_buffer_size, model.find_unused_parameters) == (3, 0.5, True)
        other = fleet.DistributedStrategy()
        other.hybrid_configs = {"mp_degree": 2}
        sgd = paddle.optimizer.SGD(0.1, parameters=model.parameters())
        with pytest.raises(ValueError, match="the degrees of init"):
            fleet.distributed_optimizer(sgd, other)
        with pytest.raises(TypeError, match="an optimizer"):
            fleet.distributed_optimizer(3)
        with pytest.raises(TypeError, match="a layer"):
            fleet.distributed_model(3)

    on(2, work)


def test_other_degrees_are_not_trained_yet():
    def work():
        strategy = fleet.DistributedStrategy()
        strategy.hybrid_configs = {"mp_degree": 2}
        fleet.init(is_collective=True, strategy=strategy)
        assert fleet.fleet.get_hybrid_parallel_topology().get_dim("model") == 2
        assert fleet.get_hybrid_communicate_group().get_model_parallel_rank() == comm.world().rank
        with pytest.raises(NotImplementedError, match=r"degrees \{'model': 2\}"):
            fleet.distributed_model(nn.Linear(2, 2))

    on(2, work)
