import { setTimeout as sleep } from 'node:timers/promises'
import type { ControlPlane } from '@tenure/test-control-plane'
import { ReplicaProcess } from '../handover/replica-process.ts'
import { Turns } from '../rollout/turns.ts'
import { leaseOf } from './candidate.ts'
import { Pod } from './pod.ts'

const LANES = 3
/** How long a fleet is left alone after a new candidate has joined: its container has to become known, and its place on the list. */
const SETTLE_MS = 2500

/** Where candidates in Pods stand for election. */
export interface CrashPlace {
  readonly server: ControlPlane
  /** The file with the kubeconfig of every candidate. */
  readonly kubeConfigPath: string
}

/**
 * Kills leaders whose death the status of their Pod then proves. Returns the milliseconds from that report of the kubelet until the term of
 * the next leader begins.
 *
 * @param mode begins the names of the leases
 */
export async function measureCrashes(place: CrashPlace, mode: string, rounds: number): Promise<readonly number[]> {
  const turns = new Turns()
  const samples: number[] = []
  let begun = 0
  const lane = async (_: unknown, index: number) => {
    const fleet = new CrashFleet(place, `${mode}-crash-${index}`)
    await fleet.start()
    while (begun < rounds) {
      begun++
      samples.push(await fleet.crash(turns))
    }
    await fleet.stop()
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return samples
}

interface Inhabited {
  readonly pod: Pod
  readonly process: ReplicaProcess
}

/** A leader and a follower of equal versions, in Pods. */
class CrashFleet {
  readonly #place: CrashPlace
  readonly #lease: string
  #started = 0
  #leader: Inhabited | undefined
  #follower: Inhabited | undefined

  constructor(place: CrashPlace, lease: string) {
    this.#place = place
    this.#lease = lease
  }

  async start(): Promise<void> {
    this.#leader = await this.#create()
    await this.#leader.process.told('wrote')
    this.#follower = await this.#create()
    await this.#follower.process.told('ready')
  }

  /** The leader dies, the follower leads, and a new one follows. */
  async crash(turns: Turns): Promise<number> {
    const [leader, follower] = this.#pair
    await sleep(SETTLE_MS)
    const elapsed = await turns.take(async () => {
      leader.process.end('SIGKILL')
      await leader.process.exited()
      const began = follower.process.next('term-began')
      const reportedAt = Number(process.hrtime.bigint()) / 1e6
      await leader.pod.terminated()
      return (await began).at - reportedAt
    })
    this.#leader = follower
    this.#follower = await this.#create()
    await this.#follower.process.told('ready')
    return elapsed
  }

  async stop(): Promise<void> {
    for (const { process } of this.#pair.toReversed()) {
      process.end('SIGTERM')
      await process.exited()
    }
  }

  get #pair(): readonly [leader: Inhabited, follower: Inhabited] {
    if (this.#leader === undefined || this.#follower === undefined) throw new Error('The fleet has not started')
    return [this.#leader, this.#follower]
  }

  async #create(): Promise<Inhabited> {
    const identity = `${this.#lease}-${++this.#started}`
    const pod = await Pod.create(this.#place.server, identity)
    const lease = { ...leaseOf(this.#lease, '1.4.0'), proveDeath: true }
    const process = new ReplicaProcess({ identity, lease, env: pod.env }, this.#place.kubeConfigPath)
    await pod.runs()
    return { pod, process }
  }
}
