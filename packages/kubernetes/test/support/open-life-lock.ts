import { KubeConfig } from '@kubernetes/client-node'
import type { Lock } from '@tenure/core'
import { lifeLock } from '../../src/locks/life/life-lock.ts'

/** For the conformance suite: the same ConfigMap in another process. */
export function openLock({ text, name }: { readonly text: string; readonly name: string }): Lock {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(text)
  return lifeLock({ kubeConfig, name, namespace: 'ops', pod: `${name}-pod` })
}
