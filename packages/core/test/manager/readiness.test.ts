import { describe, expect, test } from 'vitest'
import { HealthRegistry } from '../../src/health/health-registry.ts'
import { ReadinessProbe } from '../../src/manager/readiness.ts'
import { LockRequestError } from '../../src/lock/lock-request-error.ts'
import type { Candidacy } from '../../src/candidacy/candidacy.ts'
import { createManager } from '../support/virtual-manager.ts'

type Subject = Pick<Candidacy, 'lease' | 'standing'> & Partial<Pick<Candidacy, 'lastProblem' | 'refusal'>>

/** The readiness of a replica with these candidacies, and one check of the user that a test can break. */
function readinessOf(candidacies: readonly Subject[] = [], isStopping = false) {
  const user = new HealthRegistry()
  const database = { failure: undefined as Error | undefined }
  user.register('database', () => {
    if (database.failure !== undefined) throw database.failure
  })
  const probe = new ReadinessProbe({ candidacies: candidacies as readonly Candidacy[], isStopping: () => isStopping })
  probe.add(user)
  return { probe, database }
}

const standing: Subject = { lease: 'first', standing: 'standing' }

describe('Readiness', () => {
  test('passes while the replica stands for all of its leases', async () => {
    const { probe } = readinessOf([standing, { ...standing, lease: 'second' }])
    expect(await probe.run()).toEqual([
      { name: 'lease-observed' },
      { name: 'standby' },
      { name: 'lease-writable' },
      { name: 'shutdown' },
      { name: 'database' },
    ])
  })

  test('names the lease that this replica has not seen, and why', async () => {
    const unseen: Subject = { lease: 'second', standing: 'unseen' }
    const check = (subject: Subject) => readinessOf([standing, subject]).probe.runOne('lease-observed')
    expect(await check(unseen)).toEqual({
      name: 'lease-observed',
      failure: new Error('the lease `second` has not been seen yet'),
    })
    expect(await check({ ...unseen, lastProblem: new Error('no route to host') })).toEqual({
      name: 'lease-observed',
      failure: new Error('the lease `second` has not been seen yet: no route to host'),
    })
  })

  test('names the lease whose standbys this replica has not joined', async () => {
    const { probe } = readinessOf([standing, { lease: 'second', standing: 'joining' }])
    expect((await probe.runOne('standby'))?.failure).toEqual(
      new Error('the replica has not joined the standbys of the lease `second` yet'),
    )
    expect((await probe.runOne('lease-observed'))?.failure).toBeUndefined()
  })

  test('names the lease that this replica may not acquire', async () => {
    const refusal = new LockRequestError('forbidden', 'no permission')
    const { probe } = readinessOf([standing, { lease: 'second', standing: 'standing', refusal }])
    expect((await probe.runOne('lease-writable'))?.failure).toEqual(
      new Error('the lease `second` cannot be acquired: no permission'),
    )
  })

  test('ends with the stop of the process', async () => {
    const { probe } = readinessOf([standing], true)
    expect((await probe.runOne('shutdown'))?.failure).toEqual(new Error('the process is shutting down'))
  })

  test('ends as soon as the manager stops by itself, because of a failure', async () => {
    let seen: unknown
    const { manager, clock } = createManager({
      extensions: [
        { name: 'last', stop: async () => void (seen = (await manager.readyz.runOne('shutdown'))?.failure) },
        { name: 'bad', start: () => Promise.reject(new Error('port in use')) },
      ],
    })
    const running = manager.start()
    running.catch(() => {})
    await clock.runAllMicrotasks()
    await expect(running).rejects.toThrow('port in use')
    expect(seen).toEqual(new Error('the process is shutting down'))
  })
})

describe('Readiness as the election sees it', () => {
  test('is lost with the third failure in a row, and comes back with the first pass', async () => {
    const { probe, database } = readinessOf()
    database.failure = new Error('no database')
    const seen: boolean[] = [probe.isPassing]
    for (let run = 0; run < 3; run++) {
      await probe.run()
      seen.push(probe.isPassing)
    }
    database.failure = undefined
    await probe.run()
    seen.push(probe.isPassing)
    expect(seen).toEqual([true, true, true, false, true])
  })

  test('is lost with the third run that hangs', () => {
    const { probe } = readinessOf()
    for (let run = 0; run < 2; run++) void probe.run()
    expect(probe.isPassing).toBe(true)
    void probe.run(new Set())
    expect(probe.isPassing).toBe(false)
  })

  test('does not depend on how far the replica has come with standing for election', async () => {
    const { probe } = readinessOf([{ lease: 'first', standing: 'unseen' }], true)
    for (let run = 0; run < 5; run++) await probe.run()
    expect(probe.isPassing).toBe(true)
  })

  test('counts only runs of all checks', async () => {
    const { probe, database } = readinessOf()
    database.failure = new Error('no database')
    for (let run = 0; run < 5; run++) await probe.runOne('database')
    expect(probe.isPassing).toBe(true)
    for (let run = 0; run < 3; run++) await probe.run()
    await probe.run(new Set(['database']))
    expect(probe.isPassing).toBe(false)
  })
})
