import type { KubernetesObject } from '@kubernetes/client-node'
import { clientNode } from '#client-node'

/** Writes Kubernetes objects as one YAML text, in order, as `kubectl apply -f` takes it. */
export function toYaml(objects: readonly KubernetesObject[]): string {
  const { dumpYaml } = clientNode()
  return objects.map((object) => `---\n${dumpYaml(object, { noRefs: true, lineWidth: 120 })}`).join('')
}
