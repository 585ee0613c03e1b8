import { EventEmitter, once } from 'node:events'
import { request } from 'node:https'
import { CoreV1Api, type KubeConfig } from '@kubernetes/client-node'
import { Counter } from 'prom-client'
import { Controller, gated, metrics, type Term } from 'tenure'

/** Exists for the whole run, so every listener must be removed. */
export const bus: EventEmitter = new EventEmitter().setMaxListeners(0)

/** The same for signals. */
export const root: AbortController = new AbortController()

const NAMESPACE = 'default'
const SLEEPERS = 14

/** The options of a {@link Worker}. */
export interface WorkerOptions {
  readonly name: string
  readonly kubeConfig: KubeConfig
  /** Whether it writes a config map. */
  readonly writes: boolean
  /** Whether it watches config maps. */
  readonly watches: boolean
  /** Called once in every term, when all of its tasks are running. */
  readonly onReady: () => void
  /** Leaks something in every term, on purpose. */
  readonly plant: (term: Term) => unknown
}

/**
 * A typical controller: 20 tasks, including `run()`, that sleep, loop, listen, wait, read and write through the gated client, plus a
 * metric, a health check and cleanups.
 */
export class Worker extends Controller {
  override readonly name: string
  readonly #options: WorkerOptions

  constructor(options: WorkerOptions) {
    super()
    this.name = options.name
    this.#options = options
  }

  override async run(term: Term): Promise<void> {
    const { kubeConfig, onReady, plant, writes, watches } = this.#options
    const view = gated(term, kubeConfig)
    const ticks = new Counter({
      name: `${this.name.replace('-', '_')}_ticks_total`,
      help: 'Ticks.',
      registers: [metrics(term)],
    })
    term.health.register('ticks', () => term.assertHeld())
    this.#listen(term)
    const api = view.makeApiClient(CoreV1Api)
    const ready = [
      term.spawn('write', () => (writes ? this.#write(api) : term.sleep(1))),
      watches ? this.#watch(term) : term.spawn('no watch', () => term.sleep(1)),
    ]
    for (let index = 0; index < SLEEPERS; index++) void term.spawn(`sleep ${index}`, () => term.sleep(600_000))
    void term.spawn('cycle', (signal) => once(bus, 'never', { signal }).catch(() => {}))
    void term.every(1000, () => ticks.inc())
    await plant(term)
    await Promise.all(ready)
    onReady()
    await term.sleep(600_000)
  }

  #listen(term: Term): void {
    const onTick = () => term.taskCount
    bus.on('tick', onTick)
    term.defer(() => bus.off('tick', onTick))
    root.signal.addEventListener('abort', onTick)
    term.defer(() => root.signal.removeEventListener('abort', onTick))
    void term.spawn('wait', async (signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    })
  }

  /** Writes once to its own config map. */
  async #write(api: CoreV1Api): Promise<void> {
    const { name } = this
    const body = { metadata: { name }, data: { at: String(performance.now()) } }
    try {
      await api.replaceNamespacedConfigMap({ name, namespace: NAMESPACE, body })
    } catch (error) {
      if (!isNotFound(error)) throw error
      await api.createNamespacedConfigMap({ namespace: NAMESPACE, body })
    }
  }

  /** Opens a watch that lasts as long as the term. Resolves when it is connected. */
  #watch(term: Term): Promise<void> {
    const up = Promise.withResolvers<void>()
    void term.spawn('watch', async (signal) => {
      const server = this.#options.kubeConfig.getCurrentCluster()?.server ?? ''
      const options = { agent: false as const, signal }
      await this.#options.kubeConfig.applyToHTTPSOptions(options)
      const call = request(`${server}/api/v1/namespaces/${NAMESPACE}/configmaps?watch=true`, options).end()
      const closed = new Promise((resolve) => call.once('close', resolve))
      call.once('error', up.reject)
      call.once('response', (response) => {
        response.once('error', () => {}).resume()
        up.resolve()
      })
      await closed
    })
    return up.promise
  }
}

function isNotFound(error: unknown): boolean {
  return typeof error === 'object' && error !== null && Reflect.get(error, 'code') === 404
}
