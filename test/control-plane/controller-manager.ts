import { locateProgram } from './build.ts'
import type { KubernetesVersion } from './kubernetes-version.ts'
import type { OrphanGuard } from './orphan-guard.ts'
import { ServerProcess } from './server-process.ts'

/** The options of a kube-controller-manager. */
export interface ControllerManagerOptions {
  /**
   * Whether it takes part in coordinated leader election. It then needs an API server with the same feature gate and with
   * `coordination.k8s.io/v1beta1`. @default false
   */
  readonly coordinated?: boolean
  /** Its timing, in milliseconds. @default that of Kubernetes components: 15, 10 and 2 s */
  readonly timing?: {
    readonly leaseDurationMs: number
    readonly renewDeadlineMs: number
    readonly retryPeriodMs: number
  }
  /** The controllers that it runs when it leads. @default only one that has nothing to do */
  readonly controllers?: readonly string[]
}

/** How a kube-controller-manager reaches its API server. */
interface ControllerManagerStart extends ControllerManagerOptions {
  readonly version: KubernetesVersion
  readonly guard: OrphanGuard
  /** The file with its kubeconfig. */
  readonly kubeConfig: string
}

/** Starts a kube-controller-manager, which stands for the lease `kube-system/kube-controller-manager` and serves no port. */
export async function startControllerManager(start: ControllerManagerStart): Promise<ServerProcess> {
  const { version, guard, kubeConfig, coordinated = false, controllers = ['ttl-controller'], timing } = start
  return await ServerProcess.start({
    name: 'kube-controller-manager',
    file: await locateProgram('kube-controller-manager', version),
    guard,
    args: [
      `--kubeconfig=${kubeConfig}`,
      '--leader-elect=true',
      '--secure-port=0',
      `--controllers=${controllers.join(',')}`,
      `--feature-gates=CoordinatedLeaderElection=${coordinated}`,
      ...(timing === undefined
        ? []
        : [
            `--leader-elect-lease-duration=${timing.leaseDurationMs}ms`,
            `--leader-elect-renew-deadline=${timing.renewDeadlineMs}ms`,
            `--leader-elect-retry-period=${timing.retryPeriodMs}ms`,
          ]),
    ],
  })
}
