import type { Fleet } from '../fleet/fleet.ts'
import type { ReplicaProcess } from '../fleet/replica-process.ts'
import type { LeakWatch } from '../observer/leak-watch.ts'
import type { Observer } from '../observer/observer.ts'
import type { Chronicle, TermStory } from '../record/chronicle.ts'
import type { Progress } from './progress.ts'

/** What the acts of the tour play with. */
export interface Stage {
  readonly fleet: Fleet
  readonly chronicle: Chronicle
  readonly observer: Observer
  readonly leaks: LeakWatch
  readonly progress: Progress
  /** Writes a line of the story. */
  readonly tell: (text: string) => void
  /** How long people get to look. */
  readonly pauseMs: number
}

/** A replica that leads, with its term. */
export interface Leader {
  readonly replica: ReplicaProcess
  readonly term: TermStory
}

/** Waits for a replica whose controller runs. With `after`, for a term later than that one. */
export function leader({ progress, chronicle, fleet }: Stage, after?: TermStory): Promise<Leader> {
  return progress.until(after === undefined ? 'a leader' : `a successor to ${after.replica.name}`, () => {
    const term = chronicle.latest
    if (term === undefined || (after !== undefined && term.epoch <= after.epoch)) return undefined
    const replica = fleet.members.find(({ pid, state }) => pid === term.replica.pid && state === 'leading')
    return replica && { replica, term }
  })
}

/** Waits until a replica has left nothing of its last term behind. If it never does, the summary reports it. */
export async function settle({ progress, leaks }: Stage, replica: ReplicaProcess): Promise<void> {
  await progress
    .until('the level of a follower', () => leaks.isCleared(replica), 3000)
    .catch((error: unknown) => {
      progress.signal.throwIfAborted()
      return error
    })
}

/** Starts a fresh process in the place of an ended process, and waits until it follows. */
export async function replace({ fleet, progress, tell }: Stage, gone: ReplicaProcess): Promise<void> {
  const fresh = fleet.start(gone.name)
  await progress.until(`${fresh.name} follows`, () => fresh.state === 'following')
  tell(`a fresh process (PID ${fresh.pid}) takes the place of ${gone.name} and follows`)
}

/** A replica for people. */
export function nameWithPid({ name, pid }: { readonly name: string; readonly pid: number }): string {
  return `${name} (PID ${pid})`
}
