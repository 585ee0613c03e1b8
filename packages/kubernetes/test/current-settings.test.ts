import { expect, test } from 'vitest'
import { sameConnection } from '../src/client/connection-settings.ts'
import { CurrentSettings, type KubeConfigSource } from '../src/client/current-settings.ts'
import { kubeConfigFor } from './support/loopback-server.ts'
import { ManualClock } from './support/manual-clock.ts'

/** Settings of a kubeconfig that is loaded by a function, and how often that was called. */
function loading(source?: KubeConfigSource) {
  const clock = new ManualClock()
  const run = { loads: 0 }
  const kubeConfig = kubeConfigFor('http://127.0.0.1:1', { token: 'one' })
  const load = () => {
    run.loads += 1
    return kubeConfig
  }
  return { clock, run, kubeConfig, current: new CurrentSettings(source ?? load, clock) }
}

test('settings are the same ones for 5 s, also for callers at the same time, and the kubeconfig is loaded once', async () => {
  const { clock, run, current } = loading()
  expect([current.known, run.loads]).toEqual([undefined, 0])
  const [first, again] = await Promise.all([current.get(), current.get()])
  expect(again).toBe(first)
  clock.advance(4999)
  expect(current.known).toBe(first)
  expect(await current.get()).toBe(first)
  clock.advance(1)
  expect(current.known).toBeUndefined()
  const next = await current.get()
  expect(next).not.toBe(first)
  expect([current.known === next, run.loads]).toEqual([true, 1])
})

test('only the present settings can be forgotten', async () => {
  const { clock, current } = loading()
  const first = await current.get()
  clock.advance(5000)
  const second = await current.get()
  current.forget(first)
  expect(current.known).toBe(second)
  current.forget(second)
  expect(current.known).toBeUndefined()
  expect(await current.get()).not.toBe(second)
})

test('settings of another context are stale', async () => {
  const { kubeConfig } = loading()
  const [{ cluster, user } = { cluster: '', user: '' }] = kubeConfig.getContexts()
  kubeConfig.addContext({ name: 'other', cluster, user })
  const { current } = loading(kubeConfig)
  const first = await current.get()
  expect(current.known).toBe(first)
  kubeConfig.setCurrentContext('other')
  expect(current.known).toBeUndefined()
  expect(await current.get()).not.toBe(first)
})

test('a kubeconfig that is being read when former settings are refused is read again: it may be too old as well', async () => {
  const { clock } = loading()
  const kubeConfig = kubeConfigFor('http://127.0.0.1:1', { authProvider: { name: 'slow' } })
  const reading = Promise.withResolvers<void>()
  const answers = [Promise.resolve(), reading.promise, Promise.resolve()]
  kubeConfig.addAuthenticator({ isAuthProvider: () => true, applyAuthentication: async () => answers.shift() })
  const current = new CurrentSettings(kubeConfig, clock)
  const refused = await current.get()
  clock.advance(5000)
  const outdated = current.get()
  current.forget(refused)
  const next = await current.get()
  reading.resolve()
  expect(await outdated).not.toBe(next)
  expect(current.known).toBe(next)
})

test.each<[string, (late: PromiseWithResolvers<void>) => void]>([
  ['settings', ({ resolve }) => resolve()],
  ['failures', ({ reject }) => reject(new Error('no token'))],
])('%s of another context that arrive late do not take the place of those of the present one', async (_, arrive) => {
  const late = Promise.withResolvers<void>()
  const answers = [late.promise, Promise.resolve()]
  const { clock } = loading()
  const kubeConfig = kubeConfigFor('http://127.0.0.1:1', { authProvider: { name: 'slow' } })
  kubeConfig.addAuthenticator({ isAuthProvider: () => true, applyAuthentication: async () => answers.shift() })
  const [{ cluster, user } = { cluster: '', user: '' }] = kubeConfig.getContexts()
  kubeConfig.addContext({ name: 'other', cluster, user })
  const current = new CurrentSettings(kubeConfig, clock)
  const first = current.get()
  kubeConfig.setCurrentContext('other')
  const second = await current.get()
  arrive(late)
  await Promise.allSettled([first])
  expect(current.known).toBe(second)
})

test('a kubeconfig that cannot be loaded is asked for again', async () => {
  let isThere = false
  const { kubeConfig } = loading()
  const { current } = loading(() => (isThere ? kubeConfig : Promise.reject(new Error('not yet'))))
  await expect(current.get()).rejects.toThrow('not yet')
  isThere = true
  expect((await current.get()).headers).toEqual({ Authorization: 'Bearer one' })
})

test('connections are shared only with the same server, proxy and TLS material', async () => {
  const { current } = loading()
  const settings = await current.get()
  const isSame = (change: object) =>
    sameConnection(
      { ...settings, tls: { ca: Buffer.from('a') } },
      { ...settings, tls: { ca: Buffer.from('a') }, ...change },
    )
  expect(isSame({})).toBe(true)
  expect(isSame({ headers: { Authorization: 'Bearer two' } })).toBe(true)
  expect(isSame({ server: new URL('http://127.0.0.1:1/path') })).toBe(true)
  expect(isSame({ server: new URL('http://127.0.0.1:2') })).toBe(false)
  expect(isSame({ proxyUrl: 'http://p' })).toBe(false)
  for (const tls of [{ ca: Buffer.from('b') }, { ca: 'a' }, {}]) expect(isSame({ tls })).toBe(false)
  for (const key of ['cert', 'key', 'pfx', 'passphrase', 'servername', 'rejectUnauthorized'])
    expect(isSame({ tls: { ca: Buffer.from('a'), [key]: 'x' } })).toBe(false)
})
