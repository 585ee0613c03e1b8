import { OptionsError } from '@tenure/core'
import { systemClock, systemRandom } from '@tenure/core/internal'
import { expect, test } from 'vitest'
import { type ApiObject, type InformerOptions, resolveInformerOptions } from '../src/informer/informer-options.ts'
import { ObjectCache } from '../src/informer/object-cache.ts'
import { kubeConfigFor } from './support/loopback-server.ts'

const kubeConfig = kubeConfigFor('http://127.0.0.1:1')
const resolve = (options: Partial<InformerOptions<ApiObject>> = {}) =>
  resolveInformerOptions({ kubeConfig, path: '/api/v1/pods', ...options })

test.each([
  ['/api/v1/pods', { group: '', resource: 'pods', namespace: '' }, 'informer-pods'],
  ['/api/v1/namespaces', { group: '', resource: 'namespaces', namespace: '' }, 'informer-namespaces'],
  ['/api/v1/namespaces/ops-1/pods', { group: '', resource: 'pods', namespace: 'ops-1' }, 'informer-pods-ops-1'],
  [
    '/apis/apps.example-2.com/v1beta1/deployments',
    { group: 'apps.example-2.com', resource: 'deployments', namespace: '' },
    'informer-deployments.apps.example-2.com',
  ],
  [
    '/apis/apps/v1/namespaces/ops/deployments',
    { group: 'apps', resource: 'deployments', namespace: 'ops' },
    'informer-deployments.apps-ops',
  ],
])('the path %s names its collection and its health check', (path, collection, checkName) => {
  expect(resolve({ path })).toMatchObject({ path, collection, checkName })
})

test.each([
  '',
  'api/v1/pods',
  '/x/api/v1/pods',
  '/api/v1',
  '/api/V1/pods',
  '/api/v1/Pods',
  '/api/v1/pods/',
  '/api/v1/pods/x',
  '/apis/v1/pods/x/y',
  '/apis/A/v1/pods',
  '/api/v1/namespaces/OPS/pods',
  '/api/v1/namespaces/ops/pods/x',
])('the path "%s" is that of no collection', (path) => {
  expect(() => resolve({ path })).toThrow(OptionsError)
  expect(() => resolve({ path })).toThrow(
    `Expected \`path\` to be that of a collection such as \`/api/v1/namespaces/ops/configmaps\`, got \`${path}\``,
  )
})

test('what is not given has its default', () => {
  const { onChange, onProblem, ...rest } = resolve()
  expect(rest).toMatchObject({ kubeConfig, selector: {}, clock: systemClock, random: systemRandom })
  expect(onChange({ kind: 'added', object: {} })).toBeUndefined()
  expect(onProblem(new Error('x'))).toBeUndefined()
})

test('what is given is used', () => {
  const given = { onChange: () => 1, onProblem: () => {}, clock: { ...systemClock }, random: () => 0 }
  expect(resolve(given)).toMatchObject(given)
  expect(resolve({ labelSelector: 'a=b' }).selector).toEqual({ labelSelector: 'a=b' })
  expect(resolve({ labelSelector: 'a=b', fieldSelector: 'c=d' }).selector).toEqual({
    labelSelector: 'a=b',
    fieldSelector: 'c=d',
  })
})

test.each(['kubeConfig', 'path', 'labelSelector', 'fieldSelector', 'onChange', 'onProblem', 'clock', 'random'])(
  'the option %s is known',
  (name) => {
    expect(() => resolve({ [`${name}Q`]: 1 })).toThrow(
      `Unknown option \`${name}Q\` in \`informer()\`; did you mean \`${name}\`?`,
    )
  },
)

const object = (name: string, resourceVersion: string, namespace?: string) => ({
  metadata: { name, resourceVersion, ...(namespace !== undefined && { namespace }) },
})

test('a cache tells what each list and each event changes, and no change twice', () => {
  const cache = new ObjectCache()
  const [a1, a2, b1] = [object('a', '1'), object('a', '2'), object('b', '1')]
  expect(cache.set(a1)).toEqual({ kind: 'added', object: a1 })
  expect(cache.set(object('a', '1'))).toBeUndefined()
  expect(cache.set(a2)).toEqual({ kind: 'updated', object: a2, previous: a1 })
  expect(cache.replace([b1])).toEqual([
    { kind: 'deleted', object: a2 },
    { kind: 'added', object: b1 },
  ])
  expect(cache.replace([b1])).toEqual([])
  expect(cache.delete(b1)).toEqual({ kind: 'deleted', object: b1 })
  expect(cache.delete(b1)).toBeUndefined()
  expect(cache.list()).toEqual([])
})

test('a cache tells objects apart by their namespace and name, which may be missing', () => {
  const cache = new ObjectCache()
  const [ofCluster, inOps, bare] = [object('a', '1'), object('a', '1', 'ops'), {}]
  for (const one of [ofCluster, inOps, bare]) cache.set(one)
  expect(cache.list()).toEqual([ofCluster, inOps, bare])
  expect(cache.get('a')).toBe(ofCluster)
  expect(cache.get('a', 'ops')).toBe(inOps)
  expect(cache.get('')).toBe(bare)
  expect(cache.get('a', 'web')).toBeUndefined()
})
