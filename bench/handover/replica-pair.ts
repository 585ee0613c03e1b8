import { KubeConfig } from '@kubernetes/client-node'
import { Controller, Manager, type Term } from '@tenure/core'
import { LeaseLock } from '@tenure/kubernetes'
import type { ControlPlane } from '@tenure/test-control-plane'

/** The lease, and the work of the replicas. */
export interface PairOptions {
  readonly namespace: string
  readonly lease: string
  /** What the work does after its term has begun to end. @default nothing */
  readonly finish?: () => Promise<void>
}

/** The durations of one handover. */
export interface Handover {
  /** Milliseconds from the decision to step down until the controller of the successor runs. */
  readonly fromDecisionMs: number
  /** Milliseconds from the end of the last task until the controller of the successor runs. */
  readonly fromLastTaskMs: number
  /** The lease writes that were sent between those two. */
  readonly writes: number
  /** Whether the lease was transferred, because the other replica had answered the offer. Otherwise it was released. */
  readonly isTransfer: boolean
}

/** Two replicas that step down in turn. */
export async function createReplicaPair(server: ControlPlane, options: PairOptions): Promise<ReplicaPair> {
  let onRun = () => {}
  let lastTaskEndedAt = 0
  let writes = 0
  class Probe extends Controller {
    override readonly name = 'probe'

    override async run(term: Term): Promise<void> {
      onRun()
      await term
        .spawn('work', (signal) => aborted(signal).then(options.finish))
        .finally(() => {
          lastTaskEndedAt = performance.now()
          writes = 0
        })
    }
  }
  const managers = ['a', 'b'].map((identity) => {
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(server.adminKubeConfig())
    const createLock = () => {
      const lock = new LeaseLock({ kubeConfig, name: options.lease, namespace: options.namespace })
      const update = lock.update.bind(lock)
      lock.update = (...request) => {
        writes++
        return update(...request)
      }
      return lock
    }
    return new Manager({ identity, lease: { name: options.lease }, createLock }).register(() => new Probe())
  })
  // Noted within the call, because the successor renews right after it.
  const nextRun = () =>
    new Promise<{ readonly at: number; readonly writes: number }>((resolve) => {
      onRun = () => resolve({ at: performance.now(), writes })
    })
  const first = nextRun()
  const running = managers.map((manager) => manager.start())
  await first
  await new Promise((resolve) => setTimeout(resolve, 500))
  return {
    async round() {
      const leader = managers.find((manager) => manager.state.kind === 'leading')
      if (leader === undefined) throw new Error('Nobody leads')
      const successor = nextRun()
      const decidedAt = performance.now()
      const over = leader.stepDown()
      const ran = await successor
      const result = await over
      return {
        fromDecisionMs: ran.at - decidedAt,
        fromLastTaskMs: ran.at - lastTaskEndedAt,
        writes: ran.writes,
        isTransfer: result.kind === 'stepped-down' && result.outcome === 'transferred',
      }
    },
    async close() {
      await Promise.all(managers.map((manager) => manager.stop()))
      await Promise.all(running)
    },
  }
}

/** See {@link createReplicaPair}. */
interface ReplicaPair {
  round(): Promise<Handover>
  close(): Promise<void>
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
