import { expect, test } from 'vitest'
import { EndpointsRefusedError } from '../../src/endpoints/endpoints-refused-error.ts'
import { checkService } from '../../src/endpoints/service-check.ts'
import type { SliceSource } from '../../src/endpoints/slice-object.ts'
import { refusal, ScriptedConnection } from '../support/scripted-connection.ts'

const source: SliceSource = {
  name: 'shop-v4',
  namespace: 'ops',
  service: 'shop',
  addressType: 'IPv4',
  ports: [
    { name: 'http', port: 8080 },
    { port: 53, protocol: 'UDP' },
  ],
}

const PORTS = [{ name: 'http' }, { protocol: 'UDP' }]

/** Checks a Service that the server answers. */
function check(object: unknown, more: Partial<SliceSource> = {}) {
  const connection = new ScriptedConnection()
  connection.onSend = () => object
  return checkService(connection, { ...source, ...more }, new AbortController().signal)
}

const refused = (why: string) => `Could not keep endpoints for the Service ops/shop: ${why}`

test('a Service is read by its name, and known by its uid', async () => {
  const connection = new ScriptedConnection()
  const { signal } = new AbortController()
  connection.onSend = () => ({ metadata: { uid: 'u' }, spec: { ports: PORTS, ipFamilies: ['IPv6', 'IPv4'] } })
  expect(await checkService(connection, source, signal)).toBe('u')
  expect(connection.sent).toEqual([
    {
      method: 'GET',
      path: '/api/v1/namespaces/ops/services/shop',
      target: { verb: 'get', group: '', resource: 'services', namespace: 'ops', name: 'shop' },
      signal,
    },
  ])
})

test.each([
  ['is headless', { spec: {} }],
  ['has an empty selector, no families and no ports', { spec: { selector: {}, ipFamilies: [], ports: [] } }],
  ['has fields of other types', { spec: { selector: 'x', ipFamilies: 'x', ports: 'x' } }],
  ['has ports that are none', { spec: { ports: ['x'] } }],
  ['is no object', 'x'],
])('a Service that %s can be kept, without a uid', async (_, object) => {
  expect(await check(object)).toBe('')
})

test.each([
  [
    { selector: { app: 'shop' } },
    'it has a selector, so the EndpointSlice controller writes its endpoints. Remove the selector, or use another Service',
  ],
  [{ ipFamilies: ['IPv6', 'x'] }, 'its ipFamilies are IPv6, x, so no client uses a slice of IPv4'],
  [{ ports: [{ name: 'http' }] }, 'it has no port "" UDP, only "http" TCP. Correct `ports`'],
  [
    { ports: [{ name: 'http', protocol: 'UDP' }, { protocol: 'UDP' }] },
    'it has no port "http" TCP, only "http" UDP, "" UDP. Correct `ports`',
  ],
  [{ ports: [{ name: 'web' }, {}] }, 'it has no port "http" TCP, only "web" TCP, "" TCP. Correct `ports`'],
])('a Service that does not fit is refused with what to do (%#)', async (spec, why) => {
  const error: unknown = await check({ spec }).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(EndpointsRefusedError)
  expect(error).toMatchObject({ message: refused(why) })
})

test('a Service that is missing is refused, and any other failure is passed on', async () => {
  const connection = new ScriptedConnection()
  const run = () => checkService(connection, source, new AbortController().signal)
  connection.onSend = ({ target }) => {
    throw refusal(target, 404)
  }
  await expect(run()).rejects.toMatchObject({
    code: 'ENDPOINTS_REFUSED',
    message: refused('it does not exist. Create it, without a selector'),
    cause: { statusCode: 404 },
  })
  connection.onSend = ({ target }) => {
    throw refusal(target, 500)
  }
  await expect(run()).rejects.toMatchObject({ statusCode: 500 })
  const error = new Error('odd')
  connection.onSend = () => {
    throw error
  }
  await expect(run()).rejects.toBe(error)
})
