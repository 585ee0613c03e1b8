/*
 * A replica whose controller counts, in several objects. Its warm-up follows them with an informer. Each term compares what the cache shows
 * before and after `synced` with what the term before wrote last, and counts on in all objects as the last act of its drain.
 */
import { CoreV1Api, type V1ConfigMap } from '@kubernetes/client-node'
import {
  Controller,
  createManager,
  gated,
  type Informer,
  informer,
  loadKubeConfig,
  type Term,
  type WarmUp,
} from 'tenure'

const [identity = '', kubeConfigPath = '', lease = '', namespace = '', ...names] = process.argv.slice(2)
const kubeConfig = loadKubeConfig({ kubeConfigPath })

/** The objects are large, so that their events take time. Every version of them together must fit into the 2 GB of an etcd. */
const PAYLOAD = 'x'.repeat(16_384)

/** How long a term lasts, so that the other replica has a warm cache when it follows. */
const TERM_MS = 40

/** What one term saw. */
export interface Sighting {
  /** The least count in the cache, less what the term before wrote: below 0 if the cache was stale. */
  readonly before: number
  readonly after: number
  readonly barrierMs: number
  readonly putToEventMs: number
}

class Counter extends Controller {
  readonly name = 'counter'
  #cache: Informer<V1ConfigMap> | undefined
  #seen: (object: V1ConfigMap) => void = () => {}

  override async warmUp(warm: WarmUp): Promise<void> {
    this.#cache = informer<V1ConfigMap>(warm, {
      kubeConfig,
      path: `/api/v1/namespaces/${namespace}/configmaps`,
      onChange: ({ object }) => this.#seen(object),
    })
    await this.#cache.synced
  }

  async run(term: Term): Promise<void> {
    const configMaps = gated(term, kubeConfig).makeApiClient(CoreV1Api)
    const left = term.inherited?.value as { readonly count: number; readonly by: string } | undefined
    const before = this.#count()
    const askedAt = performance.now()
    await this.#cache?.synced
    const barrierMs = performance.now() - askedAt
    const after = this.#count()
    let count = left?.count ?? 0
    const write = async (name: string) => {
      const place = { name, namespace }
      const body = { metadata: place, data: { count: String(count), payload: PAYLOAD } }
      await configMaps.replaceNamespacedConfigMap({ ...place, body })
    }
    term.defer(async () => {
      count += 1
      await Promise.all(names.map(write))
      term.bequeath({ count, by: identity })
    })
    count += 1
    const putToEventMs = await this.#timeEvent(() => write(names[0] ?? ''), count)
    if (left !== undefined && left.by !== identity && before !== undefined && after !== undefined) {
      process.send?.({ before: before - left.count, after: after - left.count, barrierMs, putToEventMs })
    }
    await term.sleep(TERM_MS)
    term.stepDown({ to: identity === 'a' ? 'b' : 'a' })
  }

  /** The least count that the cache shows; undefined before the first. */
  #count(): number | undefined {
    const counts = names.map((name) => Number(this.#cache?.get(name, namespace)?.data?.['count']))
    return counts.some(Number.isNaN) ? undefined : Math.min(...counts)
  }

  async #timeEvent(write: () => Promise<void>, count: number): Promise<number> {
    const seen = Promise.withResolvers<void>()
    this.#seen = ({ data }) => Number(data?.['count']) >= count && seen.resolve()
    const sentAt = performance.now()
    await write()
    if (this.#cache !== undefined) await seen.promise
    return performance.now() - sentAt
  }
}

const manager = createManager({
  identity,
  lease: { name: lease, namespace },
  kubeConfig,
  ops: false,
  logLevel: 'error',
  argv: [],
  env: {},
})
manager.register(() => new Counter(), { warmUp: 'following' })
process.once('disconnect', () => void manager.stop())
await manager.start()
// A replica that ends early ends its process, so that the bench fails and does not wait.
if (process.connected) process.disconnect?.()
