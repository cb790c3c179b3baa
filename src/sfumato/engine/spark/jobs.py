"""How far a call of Spark is, by the tasks of its jobs, and how it is stopped: by job group, or by tag over Connect."""

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import uuid4

from sfumato.engine.progress import watched

T = TypeVar("T")


def is_connected(spark: Any) -> bool:
    """Whether a session is one of Spark Connect, which knows neither a context nor its jobs."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def watch(spark: Any, work: Callable[[], T], tell: Callable[[float], None]) -> T:
    """The result of a call that runs jobs; meanwhile, reports the share of their tasks that is done."""
    return _by_tag(spark, work, tell) if is_connected(spark) else _by_group(spark, work, tell)


def _by_group(spark: Any, work: Callable[[], T], tell: Callable[[float], None]) -> T:
    from pyspark import inheritable_thread_target

    context, group = spark.sparkContext, f"sfumato-{uuid4().hex}"

    def marked() -> T:
        context.setJobGroup(group, "sfumato counts", interruptOnCancel=True)
        return work()

    begun: Callable[[], T] = inheritable_thread_target(spark)(marked)
    return watched(begun, lambda: _share(_stages(context, group)), tell, lambda: context.cancelJobGroup(group))


def _stages(context: Any, group: str) -> list[tuple[int, int]]:
    """The tasks of each stage of a group's jobs: those that are done, and all."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return [(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage]


def _by_tag(spark: Any, work: Callable[[], T], tell: Callable[[float], None]) -> T:
    tag, seen = f"sfumato-{uuid4().hex}", [0.0]

    def heard(stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        seen[0] = _share([(s.num_completed_tasks, s.num_tasks) for s in stages or ()])

    def marked() -> T:
        spark.addTag(tag)
        return work()

    spark.registerProgressHandler(heard)
    try:
        return watched(marked, lambda: seen[0], tell, lambda: spark.interruptTag(tag))
    finally:
        spark.removeProgressHandler(heard)


def _share(stages: list[tuple[int, int]]) -> float:
    """The share of the tasks that are done; a task more than is known of, since later stages come to light later.

    >>> _share([(3, 3), (0, 8)]), _share([])
    (0.25, 0.0)
    """
    return sum(done for done, _ in stages) / (sum(tasks for _, tasks in stages) + 1)
