import { KubeConfig } from '@kubernetes/client-node'
import type { ControlPlane } from '@tenure/test-control-plane'
import { leaseRole } from '@tenure/kubernetes'
import { type CandidacyState, Controller, createManager, type ProcessManager, type Term } from 'tenure'

/** The namespace of the leases with a single candidate process. */
const NAMESPACE = 'default'

class Idle extends Controller {
  override readonly name = 'idle'
  readonly #onRun: () => void

  constructor(onRun: () => void) {
    super()
    this.#onRun = onRun
  }

  override async run(term: Term): Promise<void> {
    this.#onRun()
    await term.sleep(86_400_000)
  }
}

/** Lets users compete for a lease, and nothing else. */
export async function grant(server: ControlPlane, lease: string, users: readonly string[]): Promise<void> {
  const subjects = users.map((name) => ({ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }))
  const { role, roleBinding } = leaseRole({ name: lease, namespace: NAMESPACE, subjects })
  await server.apply([role, roleBinding] as Parameters<ControlPlane['apply']>[0])
}

/** A user, its lease and its credentials. */
export interface StandingSetup {
  readonly user: string
  readonly lease: string
  /** The text of a kubeconfig. */
  readonly kubeConfig: string
}

/**
 * A replica in this process, with its own user, connections and watch.
 *
 * @param onRun called when its controller runs
 */
export function standing({ user, lease, kubeConfig: text }: StandingSetup, onRun: () => void = () => {}) {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(text)
  const manager = createManager({
    identity: user,
    lease: { name: lease, namespace: NAMESPACE },
    kubeConfig,
    ops: false,
    signals: false,
    logLevel: 'error',
    env: {},
    argv: [],
  })
  manager.register(() => new Idle(onRun))
  let running: Promise<void> = Promise.resolve()
  let renewals = 0
  manager.on(({ kind }) => {
    if (kind === 'renewed') renewals++
  })
  return {
    user,
    manager,
    get renewals(): number {
      return renewals
    },
    start: () => void (running = manager.start()),
    reached: async (kind: CandidacyState['kind'], leader?: string) => {
      const isIt = ({ state }: ProcessManager) =>
        state.kind === kind && (leader === undefined || (state.kind === 'following' && state.observedLeader === leader))
      if (!isIt(manager)) await nextEvent(manager, isIt)
    },
    renewed: async () => {
      const before = renewals
      await nextEvent(manager, () => renewals > before)
    },
    stop: async () => {
      await manager.stop()
      await running
    },
  }
}

/** Resolves at the first event after which `isIt` holds. */
function nextEvent(manager: ProcessManager, isIt: (manager: ProcessManager) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const unsubscribe = manager.on(() => {
      if (!isIt(manager)) return
      unsubscribe()
      resolve()
    })
  })
}
