import { EventEmitter, once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startToxiproxy, type Toxiproxy } from '@tenure/test-control-plane'
import { FaultProxy } from './fault-proxy.ts'
import { FencedCluster } from './fenced-cluster.ts'
import { REPLICA } from './replica-process.ts'
import { directWay, ToxicWay, type Way } from './way.ts'
import { bundleProgram, type BundledProgram } from '../scenarios/bundle-program.ts'

/** How many fleets start at the same time. */
const MOST_AT_ONCE = 4

/** By which sort of way a replica reaches the API server: what can go wrong on it. */
export type WayKind = 'direct' | 'toxiproxy' | 'http'

/** Where fleets live: a cluster of two API servers, ways to the first of them, and the program that replicas run. */
export class Arena implements AsyncDisposable {
  readonly cluster: FencedCluster
  readonly program: BundledProgram
  /** For what replicas leave behind. */
  readonly folder: string
  readonly #toxiproxy: Toxiproxy
  readonly #proxies: FaultProxy[] = []
  readonly #turns = new EventEmitter().setMaxListeners(0)
  #busy = 0

  private constructor(
    cluster: FencedCluster,
    parts: { readonly program: BundledProgram; readonly toxiproxy: Toxiproxy; readonly folder: string },
  ) {
    this.cluster = cluster
    this.program = parts.program
    this.folder = parts.folder
    this.#toxiproxy = parts.toxiproxy
  }

  static async start(): Promise<Arena> {
    const folder = await mkdtemp(join(tmpdir(), 'tenure-faults-'))
    const [cluster, toxiproxy, program] = await Promise.all([
      FencedCluster.start(2),
      startToxiproxy(),
      bundleProgram(REPLICA, folder),
    ])
    return new Arena(cluster, { program, toxiproxy, folder })
  }

  /** Opens a way to the first API server. */
  async openWay(kind: WayKind): Promise<Way> {
    const { url } = this.cluster.admin
    if (kind === 'direct') return directWay(url)
    if (kind === 'toxiproxy') return ToxicWay.open(this.#toxiproxy, url)
    const proxy = await FaultProxy.start(url, this.cluster.caCert)
    this.#proxies.push(proxy)
    return proxy
  }

  /** Does what takes much of the processor when few others do. */
  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    while (this.#busy >= MOST_AT_ONCE) await once(this.#turns, 'next')
    this.#busy += 1
    try {
      return await work()
    } finally {
      this.#busy -= 1
      this.#turns.emit('next')
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy[Symbol.asyncDispose]()))
    await this.#toxiproxy.stop()
    await this.cluster[Symbol.asyncDispose]()
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
