import { KubeConfig } from '@kubernetes/client-node'
import { afterEach, describe, expect, it } from 'vitest'
import { createManager, KubeConfigError, OptionsError } from 'tenure'

const warnings: Error[] = []
const onWarning = (warning: Error) => void warnings.push(warning)

afterEach(() => {
  process.removeListener('warning', onWarning)
  warnings.length = 0
})

function kubeConfig(): KubeConfig {
  const config = new KubeConfig()
  config.loadFromClusterAndUser({ name: 'test', server: 'http://127.0.0.1:1', skipTLSVerify: false }, { name: 'test' })
  return config
}

const quiet = { env: {}, argv: [], ops: false, signals: false, logLevel: 'silent' } as const

describe('createManager()', () => {
  it('may refuse any number of times in one turn of the loop, without a warning or a listener that stays', async () => {
    process.on('warning', onWarning)
    const before = process.listenerCount('uncaughtExceptionMonitor')
    for (let call = 0; call < 30; call++) expect(() => createManager({ ...quiet })).toThrow(OptionsError)
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
    expect(process.listenerCount('uncaughtExceptionMonitor')).toBe(before)
    expect(warnings).toEqual([])
  })

  it('gives the kubeconfig that it was given', () => {
    const given = kubeConfig()
    expect(createManager({ ...quiet, lease: { name: 'janitor' }, kubeConfig: given }).kubeConfig).toBe(given)
  })

  it('has no kubeconfig to give before it was read', () => {
    const manager = createManager({ ...quiet, lease: { name: 'janitor' } })
    expect(() => manager.kubeConfig).toThrow(KubeConfigError)
  })

  it('refuses another lease whose name Kubernetes would not take', () => {
    const manager = createManager({ ...quiet, lease: { name: 'janitor' }, kubeConfig: kubeConfig() })
    expect(() => manager.candidacy({ name: 'Not!' })).toThrow('Expected `lease.name` to be an RFC 1123 subdomain')
    expect(() => manager.candidacy({ name: 'south', labels: { '!': '' } })).toThrow('`lease.labels`')
  })
})
