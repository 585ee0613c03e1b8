import type { LeaseRecord } from '@tenure/core'
import { describe, expect, test } from 'vitest'
import { ConfigMapLock } from '../src/locks/legacy/config-map-lock.ts'
import { EndpointsLock } from '../src/locks/legacy/endpoints-lock.ts'
import { annotationCodec, LEADER_ANNOTATION } from '../src/locks/legacy/leader-annotation.ts'
import { answer, kubeConfigFor, LoopbackServer } from './support/loopback-server.ts'
import { WatchLog } from './support/watch-log.ts'

const unaborted = { signal: new AbortController().signal }
const codec = annotationCodec({ kind: 'ConfigMap', resource: 'configmaps', title: 'configmap' })
const metadata = { name: 'janitor', namespace: 'ops', labels: {}, annotations: {} }

const record: LeaseRecord = {
  holderIdentity: 'a',
  leaseDurationSeconds: 15,
  acquireTime: '2026-01-02T03:04:05.000001Z',
  renewTime: '2026-01-02T03:04:06.900002Z',
  leaseTransitions: 2,
  annotations: { 'tenure.dev/offer': '1' },
}

/** What client-go v0.23 writes. */
const OF_CLIENT_GO =
  '{"holderIdentity":"go_1","leaseDurationSeconds":15,"acquireTime":"2026-01-02T03:04:05Z","renewTime":"2026-01-02T03:04:09Z","leaderTransitions":7}'

function annotated(leader: string, others: Readonly<Record<string, string>> = {}) {
  const annotations = { ...others, [LEADER_ANNOTATION]: leader }
  return { metadata: { name: 'janitor', namespace: 'ops', resourceVersion: '7', annotations }, data: { keep: 'me' } }
}

function annotationsOf(body: object): Record<string, string> {
  return (body as { metadata: { annotations: Record<string, string> } }).metadata.annotations
}

describe('The annotation of a ConfigMapLock', () => {
  test('has the fields of client-go in their order, and times with whole seconds', () => {
    const leader = annotationsOf(codec.body({}, metadata, record))[LEADER_ANNOTATION]
    expect(leader).toBe(
      '{"holderIdentity":"a","leaseDurationSeconds":15,"acquireTime":"2026-01-02T03:04:05Z","renewTime":"2026-01-02T03:04:06Z","leaderTransitions":2}',
    )
  })

  test('reads back with the fractions of seconds that the annotation has no room for', () => {
    const body = codec.body({}, metadata, record)
    expect(codec.parse(body as Record<string, unknown>)).toEqual(record)
  })

  test('is read as client-go left it, also where fractions of seconds are left over from an earlier holder', () => {
    const expected = {
      holderIdentity: 'go_1',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-02T03:04:05Z',
      renewTime: '2026-01-02T03:04:09Z',
      leaseTransitions: 7,
    }
    expect(codec.parse(annotated(OF_CLIENT_GO))).toEqual({ ...expected, annotations: {} })
    const { [LEADER_ANNOTATION]: _, ...leftOver } = annotationsOf(codec.body({}, metadata, record))
    expect(codec.parse(annotated(OF_CLIENT_GO, leftOver))).toMatchObject(expected)
  })

  test('is free where there is none, and where the holder is empty', () => {
    expect(codec.parse({ metadata: {} })).toMatchObject({ holderIdentity: '', renewTime: undefined })
    const released = '{"holderIdentity":"","leaseDurationSeconds":1,"acquireTime":null,"renewTime":null}'
    expect(codec.parse(annotated(released))).toMatchObject({ holderIdentity: '', acquireTime: undefined })
  })

  test('keeps data, other annotations, and fields of the record that are not known', () => {
    const stored = annotated('{"holderIdentity":"b","strategy":"x"}', { 'example.com/note': 'keep' })
    const body = codec.body(stored, metadata, record)
    expect(body).toMatchObject({ kind: 'ConfigMap', data: { keep: 'me' } })
    expect(annotationsOf(body)).toMatchObject({ 'example.com/note': 'keep', 'tenure.dev/offer': '1' })
    expect(JSON.parse(annotationsOf(body)[LEADER_ANNOTATION] ?? '')).toMatchObject({
      holderIdentity: 'a',
      strategy: 'x',
    })
  })

  test.each([
    ['', 'to hold a JSON object'],
    ['{', 'to hold a JSON object'],
    ['[]', 'to hold a JSON object'],
    ['"a"', 'to hold a JSON object'],
    ['{"holderIdentity":7}', '`holderIdentity`'],
    ['{"holderIdentity":"a","leaseDurationSeconds":"15"}', '`leaseDurationSeconds`'],
    ['{"holderIdentity":"a","leaseDurationSeconds":1.5}', '`leaseDurationSeconds`'],
    ['{"holderIdentity":"a","renewTime":7}', '`renewTime`'],
    ['{"holderIdentity":"a","leaderTransitions":{}}', '`leaderTransitions`'],
  ])('grants nothing when it is %j', (leader, expected) => {
    const read = () => codec.parse(annotated(leader))
    expect(read).toThrow(expect.objectContaining({ failure: 'rejected', message: expect.stringContaining(expected) }))
  })
})

describe('A ConfigMapLock and an EndpointsLock', () => {
  const options = { kubeConfig: kubeConfigFor('http://127.0.0.1:1'), name: 'janitor', namespace: 'ops' }

  test('say which lease they are about, and check their options', () => {
    expect(new ConfigMapLock(options).description).toBe('configmap ops/janitor')
    expect(new EndpointsLock(options).description).toBe('endpoints ops/janitor')
    const mistyped = { ...options, namespaces: 'x' }
    expect(() => new ConfigMapLock(mistyped)).toThrow('the options of a ConfigMapLock')
    expect(() => new EndpointsLock({ ...options, name: 'A' })).toThrow('Expected `name` to be an RFC 1123')
  })

  test('write to the core group', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 201, annotated(OF_CLIENT_GO)))
    for (const Lock of [ConfigMapLock, EndpointsLock]) {
      const lock = new Lock({ ...options, kubeConfig: server.kubeConfig() })
      await lock.create(record, unaborted)
      await lock.close()
    }
    expect(server.requests.map(({ message }) => `${message.method} ${message.url}`)).toEqual([
      'POST /api/v1/namespaces/ops/configmaps',
      'POST /api/v1/namespaces/ops/endpoints',
    ])
  })

  test('report an annotation that cannot be read as a broken watch, until it can', async () => {
    const watches: NodeJS.WritableStream[] = []
    const stored = annotated('{')
    await using server = await LoopbackServer.start((message, response) => {
      if (!message.url?.includes('watch=true')) {
        return answer(response, 200, { metadata: { resourceVersion: '7' }, items: [stored] })
      }
      response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
      watches.push(response)
    })
    const lock = new ConfigMapLock({ ...options, kubeConfig: server.kubeConfig() })
    const log = new WatchLog()
    lock.watch(log)
    expect(await log.until(1)).toEqual(['down'])
    expect(log.causes[0]?.message).toContain('to hold a JSON object')
    while (watches.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    const mended = {
      ...annotated(OF_CLIENT_GO),
      metadata: { ...annotated(OF_CLIENT_GO).metadata, resourceVersion: '8' },
    }
    watches[0]?.write(`${JSON.stringify({ type: 'MODIFIED', object: mended })}\n`)
    expect(await log.until(3)).toEqual(['down', 'present@8 go_1', 'up'])
    await lock.close()
  })
})
