"""Runs what is missing of a study, and stores it as it comes."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from p0sim.engine.blocks import Block
from p0sim.engine.design import StudyFile
from p0sim.engine.machine import describe_machine
from p0sim.engine.options import RunOptions
from p0sim.engine.pools import Pool, open_pool
from p0sim.engine.progress import SilentReporter, open_reporter
from p0sim.engine.rounds import (
    PILOT,
    Range,
    StoppingRule,
    missing_of,
    only_fails,
    own_ranges,
    pilot_of,
)
from p0sim.engine.schedule import Forecast, n_reps_of, plan_blocks
from p0sim.engine.store import Store, StudyRecord
from p0sim.engine.streams import StreamKeys, stream_keys
from p0sim.engine.tally import Tally
from p0sim.engine.worker import BlockResult, Task
from p0sim.errors import InvalidStudyError, name_some
from p0sim.replicate import Cell, Experiment

SEED_BITS = 63  # a drawn seed can be written into a TOML file, whose integers have a sign
SECONDS_BETWEEN_INDEXES = 10.0


@dataclass(frozen=True)
class RunSummary:
    """What a run did.

    Attributes
    ----------
    n_done, n_resumed : int
        Replicates computed now, and those that were already there.
    n_problems : int
        Rows of problems that came with the new ones.
    seconds : float
        Time from start to end.
    seed : int
        Seed of the study, drawn or given.
    paused : tuple of str
        Cells left alone since their first replicates all failed.
    stopped : bool
        Whether the time allowed was over before all was done.
    is_part : bool
        Whether it was a shard.
    notes : tuple of str
        Changed versions, damaged blocks, paused cells: one line each.
    """

    n_done: int
    n_resumed: int
    n_problems: int
    seconds: float
    seed: int
    paused: tuple[str, ...] = ()
    stopped: bool = False
    is_part: bool = False
    notes: tuple[str, ...] = ()


def run_study(
    study_file: StudyFile,
    experiment: Experiment,
    cells: Sequence[Cell],
    directory: str | Path,
    options: RunOptions,
    rule: StoppingRule | None = None,
) -> RunSummary:
    """Run what is missing of a study.

    Parameters
    ----------
    study_file : StudyFile
        What was read.
    experiment : Experiment
        What runs.
    cells : sequence of Cell
        From `p0sim.engine.design.build_cells`.
    directory : str or Path
        Where results are, or will be.
    options : RunOptions
        How to run; never changes a number.
    rule : StoppingRule, optional
        When a cell has replicates enough; replicates given in the options come before it.

    Returns
    -------
    RunSummary

    Raises
    ------
    InvalidStudyError
        If the options do not suit the study.
    StudyMismatchError
        If the directory is in use or holds another study.
    CannotWriteError
        If the disk refuses; finished blocks stay.
    KeyboardInterrupt
        After the workers were stopped; finished blocks stay.
    """
    rule = rule if options.reps is None else None
    _require_shard_suits(study_file, options, rule)
    targets = rule.checkpoints if rule else ()
    settings = _settings(experiment, cells, options, targets)
    store, reporter = Store(directory), open_reporter(options.progress)
    # workers first: a scheduler that does not answer must leave no folder behind
    with (
        closing(reporter),
        open_pool(options, reporter.note) as pool,
        store.locked(),
    ):
        record = _record(study_file, experiment, store, reporter)
        cells = [setting.cell for setting in settings.values()]
        notes = store.begin(record, cells, strict_version=options.strict_version)
        notes += _retry(store, options)
        for note in notes:
            reporter.note(note)
        run = _Run(store, reporter, pool, options, experiment, settings, record.seed, notes)
        run.start(targets[-1:])
        run.first_replicates()
        run.go_on(rule)
        store.save_index()
        return run.finish()


@dataclass(frozen=True)
class _Setting:
    cell: Cell
    keys: StreamKeys
    cost: float


@dataclass
class _Run:
    """A run under way: what is left of it, and what it did."""

    store: Store
    reporter: SilentReporter
    pool: Pool
    options: RunOptions
    experiment: Experiment
    settings: Mapping[str, _Setting]
    seed: int
    notes: list[str]
    n_done: int = 0
    n_resumed: int = 0
    n_problems: int = 0
    stopped: bool = False
    paused: tuple[str, ...] = ()
    started: float = field(default_factory=time.perf_counter)
    indexed: float = field(default_factory=time.monotonic)
    forecast: Forecast = field(init=False)

    def start(self, last_checkpoint: Sequence[int]) -> None:
        """Look what is there, and what is left up to the last replicate that may be wanted."""
        guesses = {cell: setting.cost for cell, setting in self.settings.items()}
        self.forecast = Forecast(guesses, self.pool.n_jobs)
        for cell, tallies in self._tallies().items():
            for block, tally in tallies.items():
                self.forecast.learn(cell, block.n_reps, tally.seconds)
        own = {cell: self._own(cell, *last_checkpoint) for cell in self.settings}
        for cell, ranges in self._missing(own).items():
            self.forecast.remaining[cell] = n_reps_of(ranges)
        total = sum(map(n_reps_of, own.values()))
        self.n_resumed = total - sum(self.forecast.remaining.values())
        self.reporter.start(total, self.n_resumed)

    def first_replicates(self) -> None:
        """Run the first few of every cell; pause the cells that do nothing but fail."""
        pilots = {cell: pilot_of(self._own(cell)) for cell in self.settings}
        # The very first one tells how long the others take, where nothing else does.
        firsts = {cell: [(own[0][0], own[0][0])] for cell, own in pilots.items() if own}
        self._reach({cell: f for cell, f in firsts.items() if not self.forecast.knows(cell)})
        self._reach(pilots)
        if self.options.keep_going or self.stopped:
            return
        tallies = self._tallies()
        failing = (cell for cell in pilots if only_fails(pilots[cell], tallies[cell]))
        self.paused = tuple(cell for cell in failing if self._missing({cell: self._own(cell)}))
        for cell in self.paused:
            self._drop(cell)
        if self.paused:
            self._note(
                f"paused, since the first {PILOT} replicates all ended in error, killed or "
                f"timeout: {name_some([self._named(cell) for cell in self.paused])}; "
                f"see p0sim failures {self.store.directory}, or run with --keep-going"
            )

    def go_on(self, rule: StoppingRule | None) -> None:
        """Run the rest, or on from checkpoint to checkpoint."""
        active = [cell for cell in self.settings if cell not in self.paused]
        if rule is None:
            self._reach({cell: self._own(cell) for cell in active})
            return
        for checkpoint in rule.checkpoints:
            self.store.set_targets(dict.fromkeys(active, checkpoint))
            self._reach({cell: self._own(cell, checkpoint) for cell in active})
            if self.stopped:
                return
            met = [cell for cell in active if self._is_met(rule, cell, checkpoint)]
            for cell in met:
                self._drop(cell)
            active = [cell for cell in active if cell not in met]

    def finish(self) -> RunSummary:
        """Say what was done."""
        seconds = time.perf_counter() - self.started
        self.reporter.finish(self.n_done, seconds)
        return RunSummary(
            self.n_done,
            self.n_resumed,
            self.n_problems,
            seconds,
            self.seed,
            self.paused,
            self.stopped,
            self.options.shard is not None,
            tuple(self.notes),
        )

    def _reach(self, wanted: Mapping[str, list[Range]]) -> None:
        """Run blocks until nothing wanted is missing."""
        before = -1
        # More than once only where a worker died and took the blocks not yet begun off the list.
        while self.n_done > before and not self.stopped and (missing := self._missing(wanted)):
            before = self.n_done
            costs = {cell: self.forecast.seconds_a_rep(cell) for cell in missing}
            blocks = plan_blocks(missing, costs, self.pool.n_jobs, self.options.block_size)
            with closing(self.pool.results(map(self._task, self._in_time(blocks)))) as results:
                for result in results:
                    self._keep(result)

    def _in_time(self, blocks: Iterable[Block]) -> Iterator[Block]:
        for block in blocks:
            allowed = self.options.max_time
            if allowed is not None and time.perf_counter() - self.started >= allowed:
                self.stopped = True
                return
            yield block

    def _keep(self, result: BlockResult) -> None:
        block = result.block
        self.store.write(block, result.tables, result.seconds)
        self.n_done += block.n_reps
        self.n_problems += result.tables["problems"].num_rows
        self.forecast.record(block.cell, block.n_reps, result.seconds)
        self.reporter.advance(block.n_reps, self.forecast.seconds_left)
        if time.monotonic() - self.indexed > SECONDS_BETWEEN_INDEXES:
            self.store.save_index()
            self.indexed = time.monotonic()

    def _task(self, block: Block) -> Task:
        setting = self.settings[block.cell]
        return Task(
            self.experiment,
            setting.cell,
            setting.keys,
            self.seed,
            block,
            self.options.timeout,
            self.pool.process_is_ours,
        )

    def _own(self, cell: str, target: int | None = None) -> list[Range]:
        target = target or self.settings[cell].cell.target_reps
        return own_ranges(cell, target, self.options.shard)

    def _missing(self, wanted: Mapping[str, list[Range]]) -> dict[str, list[Range]]:
        done: dict[str, list[Block]] = {cell: [] for cell in wanted}
        for block in self.store.blocks():
            if block.cell in done:
                done[block.cell].append(block)
        missing = {cell: missing_of(own, done[cell]) for cell, own in wanted.items()}
        return {cell: ranges for cell, ranges in missing.items() if ranges}

    def _tallies(self) -> dict[str, dict[Block, Tally]]:
        tallies: dict[str, dict[Block, Tally]] = {cell: {} for cell in self.settings}
        for block, tally in self.store.tallies().items():
            if block.cell in tallies:
                tallies[block.cell][block] = tally
        return tallies

    def _is_met(self, rule: StoppingRule, cell: str, checkpoint: int) -> bool:
        return rule.is_met(self.store.read_cell("estimates", cell, checkpoint))

    def _drop(self, cell: str) -> None:
        self.reporter.drop(self.forecast.remaining[cell])
        self.forecast.remaining[cell] = 0

    def _note(self, text: str) -> None:
        self.notes.append(text)
        self.reporter.note(text)

    def _named(self, cell: str) -> str:
        factors = self.settings[cell].cell.factors
        return f"{cell} ({', '.join(f'{name}={value}' for name, value in factors.items())})"


def _require_shard_suits(
    study_file: StudyFile, options: RunOptions, rule: StoppingRule | None
) -> None:
    if options.shard is None:
        return
    if study_file.study.seed is None:
        raise InvalidStudyError("a shard needs [study] seed, the same in every shard; got none")
    if rule is not None:
        raise InvalidStudyError(
            "a shard cannot tell when [measures.stop] is met; give the replicates with --reps"
        )


def _settings(
    experiment: Experiment, cells: Iterable[Cell], options: RunOptions, checkpoints: Sequence[int]
) -> dict[str, _Setting]:
    first = options.reps or (checkpoints[0] if checkpoints else None)
    wanted = [replace(cell, target_reps=first or cell.target_reps) for cell in cells]
    return {
        cell.id: _Setting(cell, stream_keys(cell, experiment), experiment.cost(cell))
        for cell in wanted
    }


def _record(
    study_file: StudyFile, experiment: Experiment, store: Store, reporter: SilentReporter
) -> StudyRecord:
    identity = {
        "experiment": study_file.study.experiment,
        "factors": sorted(study_file.factors),
        **experiment.identity(),
    }
    return StudyRecord(
        seed=_seed(study_file, store, reporter.note),
        identity=identity,
        methods=list(experiment.methods),
        factors=list(study_file.factors),
        study=study_file.document,
        machines=[describe_machine()],
        sources=dict(experiment.sources),
        folder=study_file.folder,
    )


def _seed(study_file: StudyFile, store: Store, note: Callable[[str], None]) -> int:
    if study_file.study.seed is not None:
        return study_file.study.seed
    if store.has_study():
        return store.read_identity().seed
    seed = secrets.randbits(SEED_BITS)
    note(f"the study file gives no seed; drew {seed}, kept in {store.directory}")
    return seed


def _retry(store: Store, options: RunOptions) -> list[str]:
    removed = store.remove_with(options.retry) if options.retry else 0
    if not removed:
        return []
    statuses = " or ".join(options.retry)
    return [f"{removed} replicates are computed again, their blocks held rows with {statuses}"]
