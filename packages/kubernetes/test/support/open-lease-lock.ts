import { KubeConfig } from '@kubernetes/client-node'
import { LeaseLock } from '../../src/locks/lease/lease-lock.ts'

/** For the conformance suite: the same lease in another process. */
export function openLock({ text, name }: { readonly text: string; readonly name: string }): LeaseLock {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(text)
  return new LeaseLock({ kubeConfig, name, namespace: 'ops' })
}
