import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, startApiServerUnderTest, type ApiServerUnderTest } from './api-server-under-test.ts'
import type { ApiAnswer, ContractClient } from './contract-client.ts'
import { lease, leasesPath } from './sample-objects.ts'

let server: ApiServerUnderTest
let admin: ContractClient
let namespace: string
let path: string

beforeAll(async () => {
  server = await startApiServerUnderTest()
  admin = server.admin
  namespace = await server.createNamespace()
  path = leasesPath(namespace)
  const labels = { a: { app: 'x', tier: 'front' }, b: { app: 'x' }, c: { app: 'y', tier: 'back' }, d: {} }
  for (const [name, own] of Object.entries(labels)) {
    await admin.post(path, { metadata: { name, labels: own }, spec: { holderIdentity: name } })
  }
})

afterAll(async () => server[Symbol.asyncDispose]())

function namesIn({ body }: ApiAnswer): string[] {
  return (body.items ?? []).map(({ metadata }) => metadata.name)
}

function list(query: Readonly<Record<string, string>>): Promise<ApiAnswer> {
  return admin.get(`${path}?${new URLSearchParams(query).toString()}`)
}

describe('a list', () => {
  it('holds the objects in the order of their names, without their type', async () => {
    const answer = await list({})
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ kind: 'LeaseList', apiVersion: 'coordination.k8s.io/v1' })
    expect(namesIn(answer)).toEqual(['a', 'b', 'c', 'd'])
    expect(answer.body.items?.[0]).not.toHaveProperty('kind')
    const latest = answer.body.items?.at(-1)?.metadata.resourceVersion ?? ''
    expect(BigInt(answer.body.metadata.resourceVersion)).toBeGreaterThanOrEqual(BigInt(latest))
  })

  it('is empty for a namespace that does not exist', async () => {
    const { status, body } = await admin.get(leasesPath('nowhere'))
    expect(status).toBe(200)
    expect(body.items).toEqual([])
  })

  it('covers all namespaces when the path names none', async () => {
    const other = await server.createNamespace()
    await admin.post(leasesPath(other), lease('elsewhere'))
    const names = namesIn(await admin.get('/apis/coordination.k8s.io/v1/leases'))
    expect(names).toEqual(expect.arrayContaining(['a', 'd', 'elsewhere']))
  })
})

describe('a selector', () => {
  it.each([
    ['app=x', ['a', 'b']],
    ['app==x', ['a', 'b']],
    ['app!=x', ['c', 'd']],
    ['app in (x,y)', ['a', 'b', 'c']],
    ['app notin (x)', ['c', 'd']],
    ['tier', ['a', 'c']],
    ['!tier', ['b', 'd']],
    ['app=x,tier=front', ['a']],
    ['app in (x, y),!tier', ['b']],
  ])('of labels takes %s', async (labelSelector, names) => {
    expect(namesIn(await list({ labelSelector }))).toEqual(names)
  })

  it.each([
    ['metadata.name=b', ['b']],
    ['metadata.name!=b', ['a', 'c', 'd']],
    ['metadata.namespace=nowhere', []],
  ])('of fields takes %s', async (fieldSelector, names) => {
    expect(namesIn(await list({ fieldSelector }))).toEqual(names)
  })

  it('of fields is refused for any other field', async () => {
    const { status, body } = await list({ fieldSelector: 'spec.holderIdentity=a' })
    expect(status).toBe(400)
    expect(body.message).toBe(
      '"spec.holderIdentity" is not a known field selector: only "metadata.name", "metadata.namespace"',
    )
  })

  it('of labels is refused when it cannot be read', async () => {
    const { status, body } = await list({ labelSelector: 'a===b' })
    expect(status).toBe(400)
    expect(body.message).toMatch(/^unable to parse requirement: /)
  })
})

describe('a limit', () => {
  it('splits a list into pages of one and the same version', async () => {
    const first = await list({ limit: '3' })
    expect(namesIn(first)).toEqual(['a', 'b', 'c'])
    expect(first.body.metadata.remainingItemCount).toBe(1)
    const second = await list({ limit: '3', continue: first.body.metadata.continue ?? '' })
    expect(namesIn(second)).toEqual(['d'])
    expect(second.body.metadata.continue).toBeUndefined()
    expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion)
  })

  it('shows the later pages as they were at the first', async () => {
    const own = leasesPath(await server.createNamespace())
    for (const name of ['a', 'b', 'c']) await admin.post(own, lease(name))
    const first = await admin.get(`${own}?limit=1`)
    await admin.delete(`${own}/b`)
    await admin.post(own, lease('bb'))
    const rest = await admin.get(`${own}?continue=${first.body.metadata.continue}`)
    expect(namesIn(rest)).toEqual(['b', 'c'])
  })

  it('does not count what remains when a selector is set', async () => {
    const { body } = await list({ limit: '1', labelSelector: 'app' })
    expect(body.metadata.continue).toMatch(/./)
    expect(body.metadata.remainingItemCount).toBeUndefined()
  })

  it('refuses a continuation that is none', async () => {
    const { status, body } = await list({ continue: 'nonsense!' })
    expect(status).toBe(400)
    expect(body.message).toMatch(/^invalid continue token: continue key is not valid/)
  })
})

describe('a resourceVersion', () => {
  it('that is exact shows the past', async () => {
    const own = leasesPath(await server.createNamespace())
    await admin.post(own, lease('old'))
    const { resourceVersion } = (await admin.get(own)).body.metadata
    await admin.post(own, lease('new'))
    await admin.delete(`${own}/old`)
    const past = await admin.get(`${own}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`)
    expect(namesIn(past)).toEqual(['old'])
    expect(past.body.metadata.resourceVersion).toBe(resourceVersion)
  })

  it('that is not older than the newest is answered with 504', async () => {
    const { status, body } = await list({ resourceVersion: '999999999' })
    expect(status).toBe(504)
    expect(body).toMatchObject({
      reason: 'Timeout',
      message: expect.stringMatching(/^Timeout: Too large resource version: 999999999, current: \d+$/) as string,
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      },
    })
  })

  it.each([
    [
      { resourceVersionMatch: 'Exact' },
      'Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    ],
    [
      { resourceVersion: '0', resourceVersionMatch: 'Exact' },
      'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ],
    [
      { resourceVersion: '1', resourceVersionMatch: 'Some' },
      'Unsupported value: "Some": supported values: "Exact", "NotOlderThan", ""',
    ],
  ])('is refused as %j', async (query, why) => {
    const { status, body } = await list(query)
    expect(status).toBe(422)
    expect(body.message).toBe(`ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: ${why}`)
  })

  it('is refused when it is no number', async () => {
    const { status, body } = await list({ resourceVersion: 'abc' })
    expect(status).toBe(400)
    expect(body.message).toBe(
      'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    )
  })
})

describe('a list of a past that is forgotten', () => {
  it('is answered with 410, and with a token for the rest as it is now where it continues another', async () => {
    const own = leasesPath(await server.createNamespace())
    for (const name of ['a', 'b', 'c']) await admin.post(own, lease(name))
    const { metadata } = (await admin.get(`${own}?limit=1`)).body
    await admin.delete(`${own}/b`)
    await server.forgetHistory()
    const exact = `${own}?resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact`
    const gone = await eventually(
      () => admin.get(exact),
      ({ status }) => status === 410,
    )
    expect(gone.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'The resourceVersion for the provided list is too old.',
      reason: 'Expired',
      code: 410,
    })
    const expired = await admin.get(`${own}?limit=1&continue=${metadata.continue}`)
    expect(expired.status).toBe(410)
    expect(expired.body).toMatchObject({
      reason: 'Expired',
      message: expect.stringMatching(
        /^The provided continue parameter is too old to display a consistent list result\. You can start a new list/,
      ) as string,
    })
    expect(namesIn(await admin.get(`${own}?limit=1&continue=${expired.body.metadata.continue}`))).toEqual(['c'])
  })
})
