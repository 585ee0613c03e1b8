import { KubeConfig } from '@kubernetes/client-node'
import { OptionsError } from '@tenure/core'
import { expect, test } from 'vitest'
import { type KubeConfigLike, supportedKubeConfig } from '../src/client/kubeconfig/kube-config-like.ts'

const METHODS = [
  'getCurrentCluster',
  'getCurrentContext',
  'getContextObject',
  'makeApiClient',
  'applyToHTTPSOptions',
  'applySecurityAuthentication',
]
const EXPECTED = 'Expected `kubeConfig` to be a `KubeConfig` of @kubernetes/client-node 2'
const REMEDY = 'Install @kubernetes/client-node@^2.0.0 and create it with that version'

/** What has these methods. */
const having = (methods: readonly string[]) =>
  Object.fromEntries(methods.map((name) => [name, () => {}])) as unknown as KubeConfigLike

function messageOf(value: unknown): string {
  try {
    supportedKubeConfig(value as KubeConfigLike)
    return 'supported'
  } catch (error) {
    expect(error).toBeInstanceOf(OptionsError)
    return (error as Error).message
  }
}

test('a kubeconfig of client-node 2 is supported, and so is what has its methods', () => {
  const kubeConfig = new KubeConfig()
  expect(supportedKubeConfig(kubeConfig)).toBe(kubeConfig)
  const like = having(METHODS)
  expect(supportedKubeConfig(like)).toBe(like)
})

test.each([
  [undefined, 'undefined'],
  [null, 'null'],
  ['~/.kube/config', '~/.kube/config'],
])('what is no object is quoted: %j', (value, quoted) => {
  expect(messageOf(value)).toBe(`${EXPECTED}, got \`${quoted}\``)
})

test.each(METHODS)('an object without %s is refused, with the remedy', (method) => {
  const rest = METHODS.filter((name) => name !== method)
  expect(messageOf(having(rest))).toBe(`${EXPECTED}, got an object without \`${method}()\`. ${REMEDY}`)
  expect(messageOf({ ...having(rest), [method]: 'text' })).toContain(`without \`${method}()\``)
})

test('a kubeconfig of version 1 makes agents, and no dispatchers', () => {
  expect(messageOf(having([...METHODS, 'createAgent']))).toBe(`${EXPECTED}, got one of version 1. ${REMEDY}`)
  for (const dispatcher of ['createDispatcher', 'createDispatcherOptions'])
    expect(messageOf(having([...METHODS, 'createAgent', dispatcher]))).toBe('supported')
})
