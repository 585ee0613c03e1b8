import { assertKnownKeys } from '@tenure/core/internal'
import assert from 'node:assert/strict'
import { cancellationCases } from './cancellation-cases.ts'
import type { LockConformanceCase, LockConformanceOptions, LockFixture, LockRequirement } from './lock-fixture.ts'
import { outageCases } from './outage-cases.ts'
import { processCases } from './process-cases.ts'
import { requestCases } from './request-cases.ts'
import { sampleRecord, unaborted } from './sample-records.ts'
import { watchCases } from './watch-cases.ts'

const OPTION_NAMES = [
  'createFixture',
  'foreignData',
  'otherProcess',
  'outage',
  'lateMs',
  'patienceMs',
] as const satisfies (keyof LockConformanceOptions)[]

/**
 * Returns the requirements of the `Lock` contract as test cases for any test runner. Each case uses its own lease.
 *
 * @example
 * ```ts
 * const otherProcess = ({ path }: Fixture) => ({ module: new URL('./open-lock.js', import.meta.url), argument: path })
 * for (const { name, run } of lockConformance({ createFixture, otherProcess, outage })) test(name, run)
 * ```
 */
export function lockConformance<Fixture extends LockFixture>(
  options: LockConformanceOptions<Fixture>,
): readonly LockConformanceCase[] {
  assertKnownKeys('`lockConformance()`', options, OPTION_NAMES)
  const { otherProcess, outage, patienceMs = 10_000, lateMs = 1000 } = options
  const context = { patienceMs, lateMs }
  const requirements: LockRequirement<Fixture>[] = [
    ...requestCases,
    ...cancellationCases,
    ...watchCases,
    ...(outage === 'none' ? [] : outageCases(outage)),
    ...(otherProcess === 'none' ? [] : processCases(otherProcess)),
    ...foreignDataCases(options),
  ]
  return requirements.map(({ name, check }) => ({
    name,
    run: async () => {
      await using fixture = await options.createFixture()
      await check(fixture, context)
    },
  }))
}

function foreignDataCases<Fixture extends LockFixture>({
  foreignData,
}: LockConformanceOptions<Fixture>): LockRequirement<Fixture>[] {
  if (foreignData === undefined) return []
  return [
    {
      name: 'keeps what other clients have put on the lease through every update',
      check: async (fixture) => {
        const lock = fixture.openLock()
        await lock.create(sampleRecord({ annotations: { 'tenure.dev/offer': '1' } }), unaborted())
        await foreignData.put(fixture)
        const before = await foreignData.read(fixture)
        for (const leaseTransitions of [5, 6]) {
          const base = await lock.get(unaborted())
          assert.equal(base.kind, 'present')
          await lock.update(base, sampleRecord({ holderIdentity: '', leaseTransitions }), unaborted())
        }
        assert.deepEqual(await foreignData.read(fixture), before)
      },
    },
  ]
}
