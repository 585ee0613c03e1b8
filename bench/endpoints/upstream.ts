import { setTimeout as sleep } from 'node:timers/promises'
import type { AddedApiServer, ControlPlane } from '@tenure/test-control-plane'
import type { Life } from '../../test/faults/endpoints/judge.ts'
import { monotonicNow, SliceWatch } from '../../test/faults/endpoints/slice-watch.ts'
import { observeQuiet, type Rounds, type Samples } from './samples.ts'

/** The slice in which kube-apiservers keep their own addresses. */
const SLICE = { namespace: 'default', name: 'kubernetes' } as const

/** How often kube-apiserver renews its entry, so that the phase of a kill can be random. */
const INTERVAL_MS = 10_000

/** An API server that publishes its own address. The bench reads the slice from another API server. */
class Publisher {
  readonly address: string
  readonly #server: ControlPlane
  readonly #host: string
  #running: AddedApiServer | undefined

  constructor(server: ControlPlane, place: { readonly host: string; readonly address: string }) {
    this.#server = server
    this.#host = place.host
    this.address = place.address
  }

  /** Starts it; returns its port when it is ready. */
  async start(port: number | undefined): Promise<number> {
    const apiServerArguments = [`--advertise-address=${this.address}`, '--endpoint-reconciler-type=lease']
    const sharedPort = port === undefined ? {} : { port }
    this.#running = await this.#server.addApiServer({ host: this.#host, apiServerArguments, ...sharedPort })
    return Number(new URL(this.#running.url).port)
  }

  /** Sends the signal now; the process is gone when the promise is fulfilled. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<unknown> {
    if (this.#running === undefined) throw new Error(`Expected ${this.address} to run`)
    this.#running.process.signal(signal)
    return this.#running.process.exited
  }
}

/** Measures the `lease` reconciler of kube-apiserver on two of them. */
export async function measureUpstream(server: ControlPlane, rounds: Rounds): Promise<Samples> {
  await using watch = await SliceWatch.open(server, SLICE)
  const standing = new Publisher(server, { host: '127.0.0.2', address: '192.0.2.2' })
  // Both need one port, because it is in the slice, so each has a loopback address of its own.
  const ended = new Publisher(server, { host: '127.0.0.3', address: '192.0.2.3' })
  const port = await standing.start(undefined)
  const standsFrom = (await watch.with(standing.address)).at
  const startIn: number[] = []
  const lives: Life[] = []
  let livesFrom = 0
  const begin = async (): Promise<void> => {
    const at = monotonicNow()
    await ended.start(port)
    livesFrom = (await watch.with(ended.address, at)).at
    startIn.push(livesFrom - at)
  }
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<number> => {
    const at = monotonicNow()
    lives.push({ address: ended.address, from: livesFrom, to: at })
    const gone = ended.end(signal)
    const out = await watch.without(ended.address, at)
    await gone
    await begin()
    return out.at - at
  }
  await begin()
  const sigtermOut: number[] = []
  const sigkillOut: number[] = []
  for (let round = 0; round < rounds.stops; round += 1) sigtermOut.push(await end('SIGTERM'))
  for (let round = 0; round < rounds.kills; round += 1) {
    await sleep(Math.random() * INTERVAL_MS)
    sigkillOut.push(await end('SIGKILL'))
  }
  const steadyWritesPerMinute = await observeQuiet(server, watch, rounds)
  const now = monotonicNow()
  lives.push({ address: ended.address, from: livesFrom, to: now })
  lives.push({ address: standing.address, from: standsFrom, to: now })
  const { versions } = watch
  return { sigtermOut, sigkillOut, startIn, lives, steadyWritesPerMinute, versions }
}
