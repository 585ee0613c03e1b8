import { OptionsError } from '@tenure/core'
import { silentLogger, systemClock, systemRandom } from '@tenure/core/internal'
import { expect, test, vi } from 'vitest'
import { findKubeConfig } from '../src/client/kubeconfig/load-kube-config.ts'
import { type MembershipOptions, resolveMembershipOptions } from '../src/membership/membership-options.ts'
import { kubeConfigFor } from './support/loopback-server.ts'
import { ManualClock } from './support/manual-clock.ts'

vi.mock(import('../src/client/kubeconfig/load-kube-config.ts'), async (original) => ({
  ...(await original()),
  findKubeConfig: vi.fn(),
}))

const resolve = (options: Partial<MembershipOptions> = {}, env: NodeJS.ProcessEnv = {}) =>
  resolveMembershipOptions({ group: 'shop', ...options }, env)

test('what is not given has its default', () => {
  const { client, ...rest } = resolve()
  expect(rest).toEqual({
    group: 'shop',
    namespace: 'default',
    address: undefined,
    version: undefined,
    zone: undefined,
    labels: {},
    pod: undefined,
    podName: undefined,
    container: undefined,
    leaseDurationMs: 15_000,
    renewIntervalMs: 5000,
    proveDeath: false,
  })
  const { kubeConfig, ...parts } = client
  expect(parts).toEqual({ clock: systemClock, random: systemRandom, logger: silentLogger })
  expect(typeof kubeConfig).toBe('function')
})

test('the kubeconfig that is not given is found by the environment, once it is needed', () => {
  const env = { KUBECONFIG: '/one' }
  const { kubeConfig } = resolve({}, env).client
  expect(findKubeConfig).not.toHaveBeenCalled()
  if (typeof kubeConfig === 'function') void kubeConfig()
  expect(findKubeConfig).toHaveBeenCalledExactlyOnceWith({ env })
})

const ENV = { POD_NAMESPACE: 'web', POD_NAME: 'shop-0', POD_UID: 'uid-0', CONTAINER_NAME: 'main' }

test('the environment of the Pod says where it runs', () => {
  expect(resolve({}, ENV)).toMatchObject({
    namespace: 'web',
    pod: { name: 'shop-0', uid: 'uid-0' },
    podName: 'shop-0',
    container: 'main',
  })
  expect(resolve({}, { POD_NAME: 'shop-0' })).toMatchObject({ pod: undefined, podName: 'shop-0' })
  expect(resolve({}, { POD_UID: 'uid-0' })).toMatchObject({ pod: undefined, podName: undefined })
  const empty = { POD_NAMESPACE: '', POD_NAME: '', POD_UID: '', CONTAINER_NAME: '' }
  expect(resolve({}, empty)).toEqual({ ...resolve(), client: expect.anything() })
})

test('what is given is used, also if the environment says something else', () => {
  const client = {
    kubeConfig: kubeConfigFor('http://127.0.0.1:1'),
    userAgent: 'shop',
    clock: new ManualClock(),
    random: () => 0,
    logger: { ...silentLogger },
  }
  const given = {
    group: 'shop',
    namespace: 'ops',
    address: '10.0.0.1',
    version: '1',
    zone: 'z',
    labels: { tier: 'gold' },
    pod: { name: 'shop-1', uid: 'uid-1' },
    container: 'side',
    leaseDurationMs: 3_600_000,
    renewIntervalMs: 100,
    proveDeath: true,
  }
  expect(resolve({ ...given, ...client }, ENV)).toEqual({ ...given, podName: 'shop-1', client })
})

test('renewals come three times in each duration, if nothing else is said', () => {
  expect(resolve({ leaseDurationMs: 1000 })).toMatchObject({ leaseDurationMs: 1000, renewIntervalMs: 1000 / 3 })
  expect(resolve({ leaseDurationMs: 9000, renewIntervalMs: 3000 }).renewIntervalMs).toBe(3000)
})

test.each(['a', 'x'.repeat(1024)])('a text of 1 to 1024 characters can be published', (text) => {
  expect(resolve({ address: text, version: text, zone: text, container: text })).toMatchObject({ address: text })
})

const tooLong = 'x'.repeat(1025)
test.each<[object, string]>([
  [{ group: 'Shop' }, '`group` to be an RFC 1123 label'],
  [{ namespace: 'Ops' }, '`namespace` to be an RFC 1123 label'],
  [{ labels: [] }, 'Expected `labels` to be an object with string values, got `'],
  [
    { labels: { 'tenure.dev/member-of': 'x' } },
    'Expected no key of `labels` to be `tenure.dev/member-of`, got `tenure.dev/member-of`',
  ],
  [{ proveDeath: 'yes' }, '`proveDeath`'],
  [{ address: '' }, 'Expected `address` to be a text of 1 to 1024 characters, got ``'],
  [{ version: 1 }, 'Expected `version` to be a text of 1 to 1024 characters, got `1`'],
  [{ zone: tooLong }, 'Expected `zone` to be a text of 1 to 1024 characters, got `'],
  [{ container: '' }, 'Expected `container` to be a text of 1 to 1024 characters, got ``'],
  [{ leaseDurationMs: 999 }, '`leaseDurationMs`'],
  [{ leaseDurationMs: 1500 }, 'Expected `leaseDurationMs` to be whole seconds, at most 3600000, got `1500`'],
  [{ leaseDurationMs: 3_601_000 }, 'Expected `leaseDurationMs` to be whole seconds, at most 3600000, got `3601000`'],
  [{ renewIntervalMs: 99 }, '`renewIntervalMs`'],
  [
    { leaseDurationMs: 9000, renewIntervalMs: 3001 },
    'Expected `renewIntervalMs` to be at most a third of `leaseDurationMs`, 3000, got `3001` (number). A member must be able to miss a renewal',
  ],
  [{ pod: { name: '', uid: 'u' } }, 'Expected `pod` to have a `name` and a `uid` that are not empty, got `'],
  [{ pod: { name: 'n', uid: '' } }, 'Expected `pod` to have a `name` and a `uid` that are not empty, got `'],
  [{ pod: { name: 1, uid: 'u' } }, 'Expected `pod` to have a `name` and a `uid` that are not empty, got `'],
  [{ pod: { name: 'n', uid: 1 } }, 'Expected `pod` to have a `name` and a `uid` that are not empty, got `'],
  [{ pod: { name: 'n', uidd: 'u' } }, 'Unknown option `uidd` in `pod`'],
])('an option that is not as expected is refused, with what is expected (%#)', (options, message) => {
  expect(() => resolve(options)).toThrow(OptionsError)
  expect(() => resolve(options)).toThrow(message)
})

test.each([
  'group',
  'namespace',
  'address',
  'version',
  'zone',
  'labels',
  'pod',
  'container',
  'leaseDurationMs',
  'renewIntervalMs',
  'proveDeath',
  'kubeConfig',
  'userAgent',
  'clock',
  'random',
  'logger',
])('the option %s is known', (name) => {
  expect(() => resolve({ [`${name}Q`]: 1 })).toThrow(
    `Unknown option \`${name}Q\` in \`membership()\`; did you mean \`${name}\`?`,
  )
})
