import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LockRequestError } from '@tenure/core'
import { type ApiServer, openApiServer } from '../scenarios/api-server.ts'
import { leasesPath } from '../scenarios/lease-journal.ts'
import { Scenario } from '../scenarios/scenario.ts'
import { ScriptedReplica } from '../scenarios/scripted-replica.ts'
import { STEADY } from '../scenarios/timings.ts'

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

/** A replica that may stand for election. */
async function replica(scenario: Scenario, identity: string): Promise<ScriptedReplica> {
  await scenario.grant(identity)
  return new ScriptedReplica(scenario, { identity, kubeConfig: server.kubeConfig(scenario.userOf(identity)) })
}

async function patchLease(scenario: Scenario, patch: object): Promise<void> {
  const path = `${leasesPath(scenario.namespace)}/${scenario.leaseName}`
  const stored = (await server.admin.expect(path)) as { readonly metadata: object }
  const metadata = { ...stored.metadata, ...patch }
  const { status } = await server.admin.request(path, { method: 'PUT', body: { ...stored, metadata } })
  if (status === 409) return patchLease(scenario, patch)
  expect(status).toBe(200)
}

describe.concurrent('a lease', () => {
  it('whose annotations are full is released, and taken by the next replica', async () => {
    await using scenario = await Scenario.open(server)
    const first = await replica(scenario, 'alpha')
    await first.saw('term-began')
    await patchLease(scenario, { annotations: { 'example.com/filler': 'x'.repeat(256 * 1024 - 60) } })
    await first.saw('renewed', first.events.length)
    await first[Symbol.asyncDispose]()
    expect(first.all('term-over')).toMatchObject([{ outcome: 'released' }])
    await using second = await replica(scenario, 'beta')
    await second.saw('term-began')
  })

  it('is released at once when a replica stops while it waits for the answer of the successor that it named', async () => {
    await using scenario = await Scenario.open(server)
    const leader = await replica(scenario, 'alpha')
    await leader.saw('term-began')
    const stepDown = leader.candidacy.stepDown({ to: 'nobody', answerTimeoutMs: 60_000 })
    await leader.saw('term-ending')
    await leader[Symbol.asyncDispose]()
    expect(await stepDown).toMatchObject({ outcome: 'released' })
  })

  it('is taken within a lease duration by a follower that the server once asked to wait for a day', async () => {
    await using scenario = await Scenario.open(server)
    await using follower = await replica(scenario, 'alpha')
    await follower.saw('term-began')
    let refusals = 0
    follower.script.update = async (send, base, ...rest) => {
      if (base.record.holderIdentity !== '' || refusals++ > 0) return send(base, ...rest)
      throw new LockRequestError('throttled', 'come back tomorrow', { retryAfterMs: 86_400_000 })
    }
    const from = follower.events.length
    await follower.candidacy.stepDown({ cooldownMs: 0 })
    const { at } = await follower.saw('request-failed', from)
    const began = await follower.saw('term-began', from)
    expect(began.at - at).toBeLessThan(STEADY.leaseDurationMs + 3 * STEADY.retryPeriodMs)
  })

  it('in a namespace that is being deleted is reported as that, and not as a missing Role', async () => {
    await using scenario = await Scenario.open(server)
    await scenario.grant('alpha')
    await server.admin.expect(`/api/v1/namespaces/${scenario.namespace}`, { method: 'DELETE' })
    const kubeConfig = server.kubeConfig(scenario.userOf('alpha'))
    await using follower = new ScriptedReplica(scenario, { identity: 'alpha', kubeConfig })
    const { error } = await follower.saw('request-failed')
    expect(error.message).toContain(`namespace ${scenario.namespace} is being deleted`)
    expect(error.message).not.toContain('Role')
  })
})
