"""Communication among ranks: groups, collectives, engines. See docs/design/comm.md."""

from umiak.comm.errors import CommError
from umiak.comm.group import Group
from umiak.comm.groups import connect_by, destroy, get, new, progress, start, started, table, world
from umiak.comm.plan import Plan, plan_ranks
from umiak.comm.simulator import simulate
from umiak.comm.task import Task
