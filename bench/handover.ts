import { parseArgs } from 'node:util'
import { KubeConfig } from '@kubernetes/client-node'
import { Controller, Manager, type Term } from '@tenure/core'
import { LeaseLock } from '@tenure/kubernetes'
import { type ControlPlane, startControlPlane } from '@tenure/test-control-plane'
import { percentile, SUMMARY_HEAD, summary, writeFigures } from './figures.ts'
import { RawLeaseClient } from './raw-lease.ts'

/*
 * How long a handover takes on a real API server with etcd on disk: from the decision to step down until the successor's
 * controller runs. Beside it, in the same run and interleaved, the floor: release PUT → watch event → acquire PUT → answer,
 * over bare HTTPS connections.
 */
const NAMESPACE = 'default'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '200' }, json: { type: 'string' } } })
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`Expected \`--rounds\` to be a whole number of at least 1, got \`${values.rounds}\``)
  process.exit(2)
}

await using controlPlane = await startControlPlane({ durable: true })
const floor = await createFloor(controlPlane)
const pair = await createPair(controlPlane)
const samples = { floor: [] as number[], handover: [] as number[] }
for (let round = -10; round < rounds; round++) {
  const [floorMs, handoverMs] = [await floor.round(), await pair.round()]
  if (round < 0) continue
  samples.floor.push(floorMs)
  samples.handover.push(handoverMs)
}
await pair.close()
floor.close()
await report()

async function report(): Promise<void> {
  const ratio = (p: number) => percentile(samples.handover, p) / percentile(samples.floor, p)
  console.log(SUMMARY_HEAD)
  console.log(summary('floor: PUT, watch event, PUT', samples.floor))
  console.log(summary('step-down → successor runs', samples.handover))
  console.log(`ratio to the floor: p50 ${ratio(0.5).toFixed(2)}, p99 ${ratio(0.99).toFixed(2)}`)
  await writeFigures(values.json, {
    'floor.p50_ms': percentile(samples.floor, 0.5),
    'floor.p99_ms': percentile(samples.floor, 0.99),
    'P1.p50_ratio': ratio(0.5),
    'P1.p99_ratio': ratio(0.99),
    'P1.max_ms': percentile(samples.handover, 1),
  })
}

/** Two bare clients that hand a lease to and fro. */
async function createFloor(server: ControlPlane) {
  const access = server.access({ name: 'bench', groups: ['system:masters'] })
  const [a, b] = [new RawLeaseClient(access, NAMESPACE), new RawLeaseClient(access, NAMESPACE)]
  const created = await a.create('floor')
  let lease = await a.put(created, 'a')
  let onReleased = (_lease: typeof lease) => {}
  await b.watch(lease, (seen) => {
    if (seen.spec.holderIdentity === '') onReleased(seen)
  })
  return {
    async round(): Promise<number> {
      const { promise, resolve, reject } = Promise.withResolvers<typeof lease>()
      onReleased = (seen) => void b.put(seen, 'b').then(resolve, reject)
      const start = performance.now()
      void a.put(lease, '').catch(reject)
      lease = await promise
      const elapsed = performance.now() - start
      lease = await a.put(lease, 'a')
      return elapsed
    },
    close() {
      a.close()
      b.close()
    },
  }
}

/** Two replicas that step down in turn. */
async function createPair(server: ControlPlane) {
  let onRun = () => {}
  class Probe extends Controller {
    override readonly name = 'probe'

    override async run(term: Term): Promise<void> {
      onRun()
      await term.every(10_000, () => {})
    }
  }
  const managers = ['a', 'b'].map((identity) => {
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(server.adminKubeConfig())
    const createLock = () => new LeaseLock({ kubeConfig, name: 'handover', namespace: NAMESPACE })
    return new Manager({ identity, lease: { name: 'handover' }, createLock }).register(() => new Probe())
  })
  const nextRun = () => new Promise<void>((resolve) => (onRun = resolve))
  const first = nextRun()
  const running = managers.map((manager) => manager.start())
  await first
  await new Promise((resolve) => setTimeout(resolve, 500))
  return {
    async round(): Promise<number> {
      const leader = managers.find((manager) => manager.state.kind === 'leading')
      if (leader === undefined) throw new Error('Nobody leads')
      const successor = nextRun()
      const start = performance.now()
      const over = leader.stepDown()
      await successor
      const elapsed = performance.now() - start
      await over
      return elapsed
    },
    async close() {
      await Promise.all(managers.map((manager) => manager.stop()))
      await Promise.all(running)
    },
  }
}
