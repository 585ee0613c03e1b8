import type { ReplicaProcess } from './replica-process.ts'

/** One run of a control loop, from its first to its last moment, in nanoseconds of the monotonic clock of this machine. */
export interface LoopRun {
  readonly replica: string
  readonly epoch: bigint
  readonly beganAt: bigint
  readonly endedAt: bigint
}

/** The runs of all control loops of some replicas, in the order in which they began. A killed run ended with its process. */
export async function loopRuns(replicas: readonly ReplicaProcess[]): Promise<LoopRun[]> {
  const runs = await Promise.all(replicas.map(runsOf))
  return runs.flat().sort((a, b) => (a.beganAt < b.beganAt ? -1 : 1))
}

/** The pairs of runs that overlapped. */
export function overlaps(runs: readonly LoopRun[]): readonly (readonly [LoopRun, LoopRun])[] {
  return runs.flatMap((run, index) =>
    runs.slice(index + 1).flatMap((later) => (later.beganAt < run.endedAt ? [[run, later] as const] : [])),
  )
}

async function runsOf(replica: ReplicaProcess): Promise<LoopRun[]> {
  const ends = replica.all('loop-ended')
  const lastMoment = replica.isRunning ? process.hrtime.bigint() : (await replica.exited).at
  return replica.all('loop-began').map(({ epoch, at, controller }) => ({
    replica: replica.name,
    epoch,
    beganAt: at,
    endedAt: ends.find((end) => end.epoch === epoch && end.controller === controller)?.at ?? lastMoment,
  }))
}
