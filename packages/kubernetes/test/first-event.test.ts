import { expect, test } from 'vitest'
import { firstEvent } from '../src/reflector/first-event.ts'
import { ScriptedConnection } from './support/scripted-connection.ts'

const target = { verb: 'watch', group: '', resource: 'pods', namespace: 'ops', name: 'a' }
const pod = (version: number) => ({ metadata: { name: 'a', resourceVersion: String(version) } })

/** A watch that is open. */
async function waiting() {
  const connection = new ScriptedConnection()
  const found = firstEvent(connection, { method: 'GET', path: '/pods', target, signal: new AbortController().signal })
  found.catch(() => {})
  await new Promise((resolve) => setImmediate(resolve))
  const [stream] = connection.streams
  if (stream === undefined) throw new Error('No stream was opened')
  return { found, stream }
}

test('the first event of an object is found behind bookmarks, and the watch is closed', async () => {
  const { found, stream } = await waiting()
  stream.send(['BOOKMARK', pod(6)])
  expect(stream.isClosed).toBe(false)
  stream.send(['DELETED', pod(7)], ['ADDED', pod(8)])
  expect(await found).toEqual({ kind: 'gone', version: '7', object: pod(7) })
  expect(stream.isClosed).toBe(true)
})

test('a watch that ends without one shows nothing', async () => {
  const { found, stream } = await waiting()
  stream.send(['BOOKMARK', pod(6)])
  stream.end()
  expect(await found).toBeUndefined()
  expect(stream.isClosed).toBe(true)
})

test('a watch that breaks, or sends something else, is a failure, and is closed', async () => {
  const broken = await waiting()
  broken.stream.fail(new Error('reset'))
  await expect(broken.found).rejects.toThrow('reset')
  expect(broken.stream.isClosed).toBe(true)
  const odd = await waiting()
  odd.stream.send(['WOBBLED', {}])
  await expect(odd.found).rejects.toThrow('The watch sent an event of an unknown type')
  expect(odd.stream.isClosed).toBe(true)
})
