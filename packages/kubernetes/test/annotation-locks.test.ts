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

describe('An annotation that cannot be read', () => {
  const messageOf = (leader: string): string => {
    try {
      codec.parse(annotated(leader))
      return 'read'
    } catch (error) {
      return (error as Error).message
    }
  }
  const ANNOTATION = 'the annotation `control-plane.alpha.kubernetes.io/leader` of the configmap'

  test('is quoted as far as it is short', () => {
    expect(messageOf('{')).toBe(`Expected ${ANNOTATION} to hold a JSON object, got \`{\``)
    const long = 'x'.repeat(81)
    expect(messageOf(long)).toBe(`Expected ${ANNOTATION} to hold a JSON object, got \`${'x'.repeat(80)}\``)
  })

  test.each([
    ['{"holderIdentity":7}', 'holderIdentity', 'a text', '7'],
    ['{"leaseDurationSeconds":"15"}', 'leaseDurationSeconds', 'an integer', '"15"'],
    ['{"acquireTime":[1]}', 'acquireTime', 'a text', '[1]'],
    ['{"renewTime":false}', 'renewTime', 'a text', 'false'],
    ['{"leaderTransitions":1.5}', 'leaderTransitions', 'an integer', '1.5'],
  ])('names the field, what is expected and what it got: %s', (leader, key, expected, got) => {
    expect(messageOf(leader)).toBe(`Expected \`${key}\` in ${ANNOTATION} to be ${expected}, got \`${got}\``)
  })

  test('refuses writes as well', () => {
    expect(() => codec.body(annotated('{'), metadata, record)).toThrow('to hold a JSON object')
  })
})

describe('Fractions of seconds beside the annotation', () => {
  const EXACT = 'lock.tenure.dev/exact-times'
  const whole = { acquireTime: '2026-01-02T03:04:05Z', renewTime: '2026-01-02T03:04:09Z' }
  const exact = { acquireTime: '2026-01-02T03:04:05.000001Z', renewTime: '2026-01-02T03:04:09.123456Z' }

  test.each([
    ['both times have some', exact],
    ['the acquisition has some', { ...whole, acquireTime: exact.acquireTime }],
    ['the renewal has some', { ...whole, renewTime: exact.renewTime }],
  ])('are written where %s', (_, times) => {
    const annotations = annotationsOf(codec.body({}, metadata, { ...record, ...times }))
    expect(JSON.parse(annotations[EXACT] ?? '')).toEqual({ holderIdentity: 'a', ...times })
  })

  test('are not written where there are none, and those of an earlier record go', () => {
    const stored = annotated(OF_CLIENT_GO, { [EXACT]: '{}' })
    expect(annotationsOf(codec.body(stored, metadata, { ...record, ...whole }))).not.toHaveProperty([EXACT])
    const without = { acquireTime: undefined, renewTime: undefined }
    expect(annotationsOf(codec.body({}, metadata, { ...record, ...without }))).not.toHaveProperty([EXACT])
  })

  const read = (times: object | string) =>
    codec.parse(annotated(OF_CLIENT_GO, { [EXACT]: typeof times === 'string' ? times : JSON.stringify(times) }))

  test('count while the annotation has the same holder and times', () => {
    expect(read({ holderIdentity: 'go_1', ...exact })).toMatchObject(exact)
  })

  test.each<object | string>([
    '{',
    '[]',
    { holderIdentity: 'go_2', ...exact },
    { holderIdentity: 'go_1', ...exact, acquireTime: '2026-01-02T03:04:06.000001Z' },
    { holderIdentity: 'go_1', ...exact, renewTime: '2026-01-02T03:04:08.000001Z' },
    { holderIdentity: 'go_1', acquireTime: 'x2026-01-02T03:04:05.1Z', renewTime: exact.renewTime },
  ])('do not count otherwise: %j', (times) => {
    expect(read(times)).toMatchObject(whole)
  })

  test('count for times that are missing in both', () => {
    const leader = '{"holderIdentity":"a","acquireTime":"2026-01-02T03:04:05Z"}'
    const times = { holderIdentity: 'a', acquireTime: exact.acquireTime }
    expect(codec.parse(annotated(leader, { [EXACT]: JSON.stringify(times) }))).toMatchObject({
      acquireTime: exact.acquireTime,
      renewTime: undefined,
    })
  })

  test('have any number of digits, and are cut off where they are', () => {
    const times = { acquireTime: '2026-01-02T03:04:05.1Z', renewTime: '2026-01-02T03:04:06.123456789Z' }
    const leader = annotationsOf(codec.body({}, metadata, { ...record, ...times }))[LEADER_ANNOTATION]
    expect(JSON.parse(leader ?? '')).toMatchObject({
      acquireTime: '2026-01-02T03:04:05Z',
      renewTime: '2026-01-02T03:04:06Z',
    })
  })
})

describe('A ConfigMapLock and an EndpointsLock', () => {
  const options = { kubeConfig: kubeConfigFor('http://127.0.0.1:1'), name: 'janitor', namespace: 'ops' }

  test('say which lease they are about, and check their options', () => {
    expect(new ConfigMapLock(options).description).toBe('configmap ops/janitor')
    expect(new EndpointsLock(options).description).toBe('endpoints ops/janitor')
    const mistyped = { ...options, namespaces: 'x' }
    expect(() => new ConfigMapLock(mistyped)).toThrow('the options of a ConfigMapLock')
    expect(() => new EndpointsLock(mistyped)).toThrow('the options of a EndpointsLock')
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
    expect(server.requests.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
      { apiVersion: 'v1', kind: 'ConfigMap' },
      { apiVersion: 'v1', kind: 'Endpoints' },
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
