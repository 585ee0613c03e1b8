import { expect, test, vi } from 'vitest'
import { ApiTransport } from '../src/client/api-transport.ts'
import { missingResources } from '../src/fences/missing-resources.ts'
import { answer, LoopbackServer } from './support/loopback-server.ts'

const DOCUMENTS: Readonly<Record<string, unknown>> = {
  '/api/v1': { resources: [{ name: 'configmaps' }, { name: 'pods' }, { name: 'pods/status' }] },
  '/apis/apps': { versions: [{ groupVersion: 'apps/v1beta1' }, { groupVersion: 'apps/v1' }] },
  '/apis/apps/v1beta1': { resources: [{ name: 'deployments' }] },
  '/apis/apps/v1': { resources: [{ name: 'deployments' }, { name: 'statefulsets' }] },
}

function startServer(): Promise<LoopbackServer> {
  return LoopbackServer.start((message, response) => {
    const document = DOCUMENTS[message.url ?? '']
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(document ?? { kind: 'Status', code: 404 }))
  })
}

test('resources that a server has in any version of their group are not missing', async () => {
  await using server = await startServer()
  const guarded = [
    { apiGroup: '', resources: ['configmaps', '*'] },
    { apiGroup: 'apps', resources: ['deployments', 'statefulsets'] },
    { apiGroup: '*', resources: ['widgets'] },
  ]
  expect(await missingResources(server.kubeConfig(), guarded)).toEqual([])
  await server.untilDeserted()
})

test('resources are only known when the connections of the search are closed', async () => {
  await using server = await startServer()
  const [closing, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  using close = vi.spyOn(ApiTransport.prototype, 'close')
  close.mockImplementationOnce(() => {
    asked.resolve()
    return closing.promise
  })
  let isKnown = false
  const missing = missingResources(server.kubeConfig(), []).finally(() => (isKnown = true))
  await asked.promise
  await new Promise(setImmediate)
  expect(isKnown).toBe(false)
  closing.resolve()
  expect(await missing).toEqual([])
})

test('a singular, an unknown name and a group that is not there are missing', async () => {
  await using server = await startServer()
  const guarded = [
    { apiGroup: '', resources: ['configmap', 'pods'] },
    { apiGroup: 'apps', resources: ['deployment'] },
    { apiGroup: 'nowhere.example', resources: ['nothings'] },
  ]
  const missing = await missingResources(server.kubeConfig(), guarded)
  expect(missing).toEqual(['configmap', 'apps/deployment', 'nowhere.example/nothings'])
})

test('what the discovery holds beside lists of names is passed over', async () => {
  const documents: Readonly<Record<string, unknown>> = {
    '/apis/odd': { versions: ['v1', { other: 1 }, { groupVersion: 'odd/v1' }] },
    '/apis/odd/v1': { resources: [null, { kind: 'Odd' }, { name: 'odds' }] },
    '/apis/none': { versions: 'v1' },
    '/api/v1': [],
  }
  await using server = await LoopbackServer.start((message, response) => {
    const document = documents[message.url ?? '']
    answer(response, document === undefined ? 404 : 200, document ?? {})
  })
  const guarded = [
    { apiGroup: 'odd', resources: ['odds', 'others'] },
    { apiGroup: 'none', resources: ['odds'] },
    { apiGroup: '', resources: ['pods'] },
  ]
  expect(await missingResources(server.kubeConfig(), guarded)).toEqual(['odd/others', 'none/odds', 'pods'])
  const paths = server.requests.map(({ message }) => message.url)
  expect(paths).toEqual(['/apis/odd', '/apis/odd/v1', '/apis/none', '/api/v1'])
})

test('the discovery is given up with the signal, and its error names what was read', async () => {
  await using server = await LoopbackServer.start((_, response) => answer(response, 500, {}))
  const guarded = [{ apiGroup: 'apps', resources: ['deployments'] }]
  await expect(missingResources(server.kubeConfig(), guarded)).rejects.toThrow(
    'Could not get /apis/apps in all namespaces',
  )
  await expect(missingResources(server.kubeConfig(), guarded, AbortSignal.abort())).rejects.toThrow('aborted')
})

test('a server that does not say what it serves is an error, and leaves no connection', async () => {
  await using server = await LoopbackServer.start((_, response) => response.writeHead(403).end('{}'))
  await expect(missingResources(server.kubeConfig(), [{ apiGroup: '', resources: ['pods'] }])).rejects.toThrow('403')
  await server.untilDeserted()
})
