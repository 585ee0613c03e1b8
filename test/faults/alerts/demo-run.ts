import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { startApiServer } from '@tenure/api-server'
import { gated, membership } from '@tenure/kubernetes'
import { endpoints } from '@tenure/kubernetes/endpoints'
import { type CandidacyEvent, Controller, createManager, gatedFetch, type Term } from 'tenure'
import { answer, LoopbackServer } from '../../../packages/kubernetes/test/support/loopback-server.ts'
import { SampleGrid } from './sample-grid.ts'

const NAMESPACE = 'demo'
const LEASE = {
  name: 'demo',
  namespace: NAMESPACE,
  leaseDurationMs: 2000,
  renewDeadlineMs: 1500,
  retryPeriodMs: 200,
  drainTimeoutMs: 100,
  abortGraceMs: 100,
  strategy: 'NewestVersion',
  binaryVersion: '1.0.0',
  coordination: 'peers',
} as const

/** Does not hear that its term ends: its task lasts until it is let go. */
class Deaf extends Controller {
  readonly name = 'demo'
  readonly #terms: Term[]
  readonly #release: Promise<void>

  constructor(terms: Term[], release: Promise<void>) {
    super()
    this.#terms = terms
    this.#release = release
  }

  async run(term: Term): Promise<void> {
    this.#terms.push(term)
    await this.#release
  }
}

/**
 * The metrics of a replica that uses everything: a strategy, a group, a Service. It leads, renews, is asked to step down, is wedged for a
 * while, and writes after its term. Its metrics are read between these.
 */
export async function demoRun(): Promise<SampleGrid> {
  await using server = await startApiServer()
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(server.kubeConfig())
  await createService(kubeConfig)
  const group = membership({ group: 'crew', namespace: NAMESPACE, kubeConfig })
  const shop = endpoints({
    service: 'shop',
    namespace: NAMESPACE,
    kubeConfig,
    address: '198.51.100.1',
    ports: [{ name: 'http', port: 8080 }],
  })
  const manager = createManager({
    kubeConfig,
    lease: LEASE,
    ops: { port: false, registries: [group.metrics, shop.metrics] },
    onWedged: 'hold',
    logLevel: 'silent',
    env: {},
    argv: [],
  })
  const grid = new SampleGrid()
  const scrape = async () => grid.add((await manager.ops.metrics()).body, { pod: 'demo-1', index: grid.length })
  const happened = async (kind: CandidacyEvent['kind']) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const forget = manager.on((event) => event.kind === kind && resolve())
    await promise
    forget()
  }
  const terms: Term[] = []
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  manager.register(() => new Deaf(terms, released))
  manager.use(group).use(shop)

  const [began, wedged] = [happened('term-began'), happened('wedged')]
  const running = manager.start()
  await scrape()
  await began
  await scrape()
  await happened('renewed')
  await deniedWrite(terms)
  await scrape()
  const over = manager.stepDown()
  await wedged
  await scrape()
  release()
  await over
  await scrape()
  await lateWrite(terms)
  await scrape()
  await lateWrite(terms)
  await scrape()
  await manager.stop()
  await running
  return grid
}

async function lateWrite([term]: readonly Term[]): Promise<void> {
  if (term === undefined) throw new Error('Expected a term')
  const wasRefused = await gatedFetch(term)('http://127.0.0.1/', { method: 'PUT' }).catch(() => true)
  if (wasRefused !== true) throw new Error('Expected the gate to refuse a write after the term')
}

/** A write that the gate lets through, and that an API server refuses as one with a fence does. */
async function deniedWrite([term]: readonly Term[]): Promise<void> {
  if (term === undefined) throw new Error('Expected a term')
  const message = "ValidatingAdmissionPolicy 'demo.tenure.dev' with binding 'demo.tenure.dev' denied request"
  await using server = await LoopbackServer.start((_, response) => answer(response, 422, { kind: 'Status', message }))
  const api = gated(term, server.kubeConfig()).makeApiClient(CoreV1Api)
  const body = { metadata: { name: 'settings' } }
  const refused = await api.createNamespacedConfigMap({ namespace: NAMESPACE, body }).catch(() => true)
  if (refused !== true) throw new Error('Expected the server to refuse the write')
}

async function createService(kubeConfig: KubeConfig): Promise<void> {
  const api = kubeConfig.makeApiClient(CoreV1Api)
  await api.createNamespace({ body: { metadata: { name: NAMESPACE } } })
  const spec = { ports: [{ name: 'http', port: 80 }] }
  await api.createNamespacedService({ namespace: NAMESPACE, body: { metadata: { name: 'shop' }, spec } })
}
