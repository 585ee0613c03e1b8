import { describe, expect, test } from 'vitest'
import { statusError } from '../src/client/status-error.ts'

const TARGET = { verb: 'update', group: 'apps', resource: 'deployments', namespace: 'ops', name: 'shop' }

function refused(statusCode: number, body: object = {}) {
  return statusError(TARGET, { statusCode, headers: {}, body })
}

describe('The error of a request that the server refused', () => {
  test.each([
    [401, 'the server does not accept the credentials (401); is the token or the client certificate still valid?'],
    [
      403,
      'the credentials lack a permission (403); the Role in namespace ops must grant the verb "update" on the resource "deployments" ' +
        'of API group "apps"',
    ],
    [404, 'it does not exist, or its namespace does not (404)'],
    [409, 'it already exists, or it changed after it was read (409)'],
    [410, 'the server no longer keeps that version (410)'],
    [422, 'the server refused it (422)'],
    [429, 'the server throttles requests (429)'],
    [500, 'the server failed (500)'],
    [503, 'the server failed (503)'],
  ])('with status %i says why and what to do', (statusCode, why) => {
    const error = refused(statusCode)
    expect(error.message).toBe(`Could not update deployments.apps ops/shop: ${why}`)
    expect(error.retryAfterMs).toBeUndefined()
    expect(error.reason).toBeUndefined()
    expect(error.statusCode).toBe(statusCode)
  })

  test('names a namespace that is being deleted, and a namespace that is missing', () => {
    const terminating = { details: { causes: [{ reason: 'NamespaceTerminating' }] } }
    expect(refused(403, terminating).message).toContain(
      'namespace ops is being deleted (403), so no object can be created in it',
    )
    expect(refused(404, { details: { kind: 'namespaces' } }).message).toContain(
      'namespace "ops" does not exist (404); create it: kubectl create namespace ops',
    )
  })

  test.each([
    [{ reason: 'NamespaceTerminating' }, 'lack a permission'],
    [{ causes: [{ reason: 'x' }, 'x'] }, 'lack a permission'],
    [{ causes: 'x' }, 'lack a permission'],
    [{ causes: ['x', { reason: 'NamespaceTerminating' }] }, 'is being deleted'],
  ])('blames a namespace only if the server says so: %j', (details, expected) => {
    expect(refused(403, { details }).message).toContain(expected)
  })

  test('quotes what the server said, and keeps its reason', () => {
    const error = refused(409, { reason: 'AlreadyExists', message: 'it is there' })
    expect(error.message).toBe(
      'Could not update deployments.apps ops/shop: it already exists, or it changed after it was read (409); the server said: it is there',
    )
    expect(error.reason).toBe('AlreadyExists')
    expect(refused(409, { message: '' }).message).not.toContain('the server said')
  })

  test('of a list or a watch that is not served says what to correct', () => {
    for (const verb of ['list', 'watch']) {
      const error = statusError({ ...TARGET, verb }, { statusCode: 404, headers: {}, body: 'x' })
      expect(error.message).toContain(
        'the server does not serve the resource "deployments" of API group "apps" in this version (404); correct the path, or ' +
          'install the CustomResourceDefinition',
      )
    }
  })

  test('without a known user asks for credentials, not for a Role', () => {
    const body = { code: 403, message: 'User "system:anonymous" cannot get path' }
    const error = refused(403, body)
    expect(error.failure).toBe('unauthenticated')
    expect(error.message).toContain(
      ': the server received no credentials that it knows (403 for `system:anonymous`); give the user of the kubeconfig a token, a ' +
        'client certificate or a credential plugin; the server said: User',
    )
    expect(refused(403, { ...body, code: 500 }).failure).toBe('forbidden')
    expect(refused(403, { code: 403, message: 'no' }).failure).toBe('forbidden')
  })

  test('of the cluster must be allowed by a ClusterRole', () => {
    const error = statusError({ ...TARGET, namespace: '' }, { statusCode: 403, headers: {}, body: {} })
    expect(error.message).toContain('a ClusterRole must grant the verb "update"')
  })

  test.each([
    [299, 'unknown-outcome'],
    [300, 'rejected'],
    [302, 'rejected'],
    [400, 'rejected'],
    [401, 'unauthenticated'],
    [403, 'forbidden'],
    [404, 'not-found'],
    [409, 'conflict'],
    [429, 'throttled'],
    [499, 'rejected'],
    [500, 'unknown-outcome'],
  ])('with status %i says whether a write can have taken effect: %s', (statusCode, failure) => {
    expect(refused(statusCode).failure).toBe(failure)
  })

  test.each<[string | undefined, unknown, number | undefined]>([
    ['7', undefined, 7000],
    [' 7 ', 3, 7000],
    ['0', undefined, 0],
    ['15', undefined, 15_000],
    ['16', undefined, 15_000],
    ['Fri, 31 Dec 1999 23:59:59 GMT', undefined, undefined],
    ['7s', 3, 3000],
    ['x7', 3, 3000],
    ['-1', undefined, undefined],
    [undefined, 3, 3000],
    [undefined, 0, 0],
    [undefined, -1, undefined],
    [undefined, 'x', undefined],
  ])('asks to wait with Retry-After %j or the detail %j', (header, retryAfterSeconds, expected) => {
    const headers = header === undefined ? {} : { 'retry-after': header }
    const error = statusError(TARGET, { statusCode: 429, headers, body: { details: { retryAfterSeconds } } })
    expect(error.retryAfterMs).toBe(expected)
  })
})
