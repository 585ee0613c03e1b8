import { expect, test } from 'vitest'
import { openLinks } from '../src/membership/links.ts'
import { answer, LoopbackServer } from './support/loopback-server.ts'
import { ManualClock } from './support/manual-clock.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'

/** Links to a server that lists nothing. */
async function linked(more: { readonly userAgent?: string; readonly proveDeath?: boolean; readonly podName?: string }) {
  const { userAgent, proveDeath = false, podName } = more
  const server = await LoopbackServer.start(({ url }, response) => {
    if (url?.includes('watch=true') === true) response.writeHead(200).flushHeaders()
    else answer(response, 200, { metadata: { resourceVersion: '1' }, items: [] })
  })
  const lines: Line[] = []
  const logger = recordingLogger(lines)
  const parts = { kubeConfig: server.kubeConfig(), clock: new ManualClock(), random: () => 0, logger }
  const client = { ...parts, ...(userAgent !== undefined && { userAgent }) }
  const links = openLinks({ client, proveDeath, namespace: 'ops', podName, container: undefined })
  return { server, links, lines }
}

const target = { verb: 'get', group: '', resource: 'pods', namespace: 'ops', name: 'x' }
const request = { method: 'GET' as const, path: '/x', target, signal: new AbortController().signal }

test.each([
  ['shop', /^shop$/],
  [undefined, /^tenure\//],
])('requests of a member have the user agent %s', async (userAgent, expected) => {
  const { server, links } = await linked(userAgent === undefined ? {} : { userAgent })
  await links.connection.send(request)
  expect(server.requests.map(({ message }) => message.headers['user-agent'])).toEqual([expect.stringMatching(expected)])
  expect(links.proof).toBeUndefined()
  expect('start' in links).toBe(false)
  await links.close()
  await server.untilDeserted()
  await server[Symbol.asyncDispose]()
})

test('a member whose death can be proved looks for its container in its own Pod, and ends that when it closes', async () => {
  const { server, links } = await linked({ proveDeath: true, podName: 'shop-0' })
  expect(links.proof?.processRef).toBeUndefined()
  expect(server.requests).toEqual([])
  links.start?.()
  await links.connection.send(request)
  await server.untilRequests(3)
  const urls = server.requests.map(({ message }) => message.url ?? '')
  const ofPod = '/api/v1/namespaces/ops/pods?fieldSelector=metadata.name%3Dshop-0'
  expect(urls.filter((url) => url.startsWith(ofPod))).toEqual([ofPod, expect.stringContaining('watch=true')])
  await links.close()
  await server.untilDeserted()
  await server[Symbol.asyncDispose]()
})

test('a member that does not know its Pod says so', async () => {
  const { server, links, lines } = await linked({ proveDeath: true })
  links.start?.()
  expect(lines).toEqual([
    {
      level: 'warn',
      message:
        'This process does not know its Pod, so no other replica can prove its death. Set POD_NAME and POD_NAMESPACE',
      fields: { event: 'no-pod' },
    },
  ])
  await links.close()
  await server[Symbol.asyncDispose]()
})
