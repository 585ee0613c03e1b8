import type { V1Container, V1Deployment, V1EnvVar, V1PodDisruptionBudget, V1Probe } from '@kubernetes/client-node'
import type { ResolvedManifestsOptions } from './manifests-options.ts'

/** Time after the drain: for the release, the last Event and the operations port. */
const CLOSING_MS = 6000

/**
 * Returns the Deployment of the program.
 *
 * The grace period covers the longest drain and the shutdown after it. Liveness fails only for faults that a restart fixes.
 * Readiness does not depend on leadership. Otherwise a rolling update could deadlock.
 */
export function deployment(options: ResolvedManifestsOptions): V1Deployment {
  const { name, namespace, replicas } = options
  const labels = labelsOf(options)
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: name,
          terminationGracePeriodSeconds: gracePeriodSeconds(options),
          securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
          containers: [container(options)],
        },
      },
    },
  }
}

function gracePeriodSeconds({ drainTimeoutMs, abortGraceMs, cleanupTimeoutMs }: ResolvedManifestsOptions): number {
  return Math.ceil((drainTimeoutMs + abortGraceMs + cleanupTimeoutMs + CLOSING_MS) / 1000)
}

/** Lets a node drain evict one replica at a time, so that another can lead. */
export function disruptionBudget(options: ResolvedManifestsOptions): V1PodDisruptionBudget {
  const { name, namespace } = options
  const labels = labelsOf(options)
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace, labels },
    spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
  }
}

/** The labels of every object of the program. */
export function labelsOf({ name }: ResolvedManifestsOptions): Record<string, string> {
  return { 'app.kubernetes.io/name': name }
}

function container(options: ResolvedManifestsOptions): V1Container {
  const { name, namespace, image, opsPort, strategy, forLife, members } = options
  return {
    name,
    image,
    env: [
      { name: 'TENURE_LEASE', value: name },
      { name: 'TENURE_NAMESPACE', value: namespace },
      { name: 'TENURE_OPS_PORT', value: String(opsPort) },
      fieldOf('TENURE_REVISION', "metadata.labels['pod-template-hash']"),
      // Since Kubernetes 1.35, Pods have the zone of their node as a label. Without it the variable is empty.
      fieldOf('TENURE_ZONE', "metadata.labels['topology.kubernetes.io/zone']"),
      fieldOf('POD_NAME', 'metadata.name'),
      fieldOf('POD_NAMESPACE', 'metadata.namespace'),
      // The owner of the LeaseCandidate, the ConfigMap or the identity Lease, which is deleted with its Pod.
      ...(strategy === undefined && !forLife && !members ? [] : [fieldOf('POD_UID', 'metadata.uid')]),
      { name: 'CONTAINER_NAME', value: name },
    ],
    ports: [{ name: 'ops', containerPort: opsPort, protocol: 'TCP' }],
    startupProbe: asking('/livez', { periodSeconds: 1, failureThreshold: 60 }),
    livenessProbe: asking('/livez', { periodSeconds: 10, failureThreshold: 3 }),
    readinessProbe: asking('/readyz', { periodSeconds: 5, failureThreshold: 3 }),
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
  }
}

/** How often a probe asks, and how often in a row it may fail. */
interface Pace {
  readonly periodSeconds: number
  readonly failureThreshold: number
}

function asking(path: string, pace: Pace): V1Probe {
  return { httpGet: { path, port: 'ops' }, timeoutSeconds: 5, ...pace }
}

function fieldOf(name: string, fieldPath: string): V1EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } }
}
