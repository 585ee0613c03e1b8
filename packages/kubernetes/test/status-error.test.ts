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
    expect(error.message).toContain(`: ${why}`)
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
})
