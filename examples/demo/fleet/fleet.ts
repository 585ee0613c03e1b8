import { setTimeout as delay } from 'node:timers/promises'
import type { ReplicaCommand } from '../replica/messages.ts'
import { type ReplicaListener, ReplicaProcess } from './replica-process.ts'

/** Where replicas stand. */
export type Place = Omit<Extract<ReplicaCommand, { kind: 'stand' }>, 'kind'>

/** A clean stop takes no longer than a drain. */
const STOP_WITHIN_MS = 5000

/** The replicas, by name. A replica whose process is gone can be given a fresh one. Owns the processes. */
export class Fleet {
  readonly #listener: ReplicaListener
  readonly #members = new Map<string, ReplicaProcess>()
  #placeOf: ((name: string) => Place) | undefined

  constructor(listener: ReplicaListener) {
    this.#listener = listener
  }

  /** The present process of every replica, in the order of their first start. */
  get members(): readonly ReplicaProcess[] {
    return [...this.#members.values()]
  }

  /** Starts a process for the replica of that name; it stands as soon as it is known where. */
  start(name: string): ReplicaProcess {
    const replica = ReplicaProcess.start(name, this.#listener)
    this.#members.set(name, replica)
    if (this.#placeOf !== undefined) replica.send({ kind: 'stand', ...this.#placeOf(name) })
    return replica
  }

  /** Lets every process stand for election, now and after later starts. */
  stand(placeOf: (name: string) => Place): void {
    this.#placeOf = placeOf
    for (const replica of this.members) replica.send({ kind: 'stand', ...placeOf(replica.name) })
  }

  /** Stops followers first, so that nobody is elected only to stop. Resolves when every process is gone. */
  async stop(): Promise<void> {
    // A process that does not stand yet has nothing to end in order.
    for (const replica of this.members) {
      if (replica.state === 'starting' || replica.state === 'idle') replica.kill('SIGKILL')
    }
    const isFollower = ({ state }: ReplicaProcess) => state === 'following'
    await stopAll(this.members.filter(isFollower))
    await stopAll(this.members)
  }

  /** Kills what is left, at once. */
  kill(): void {
    for (const replica of this.members) if (replica.state !== 'gone') replica.kill('SIGKILL')
  }
}

async function stopAll(replicas: readonly ReplicaProcess[]): Promise<void> {
  const running = replicas.filter(({ state }) => state !== 'gone')
  for (const replica of running) {
    replica.isLeaving = true
    replica.send({ kind: 'stop' })
  }
  const timer = new AbortController()
  const overdue = delay(STOP_WITHIN_MS, undefined, { signal: timer.signal }).then(() => {
    for (const replica of running) if (replica.state !== 'gone') replica.kill('SIGKILL')
  })
  await Promise.all(running.map(({ exit }) => exit))
  timer.abort()
  await overdue.catch(() => {})
}
