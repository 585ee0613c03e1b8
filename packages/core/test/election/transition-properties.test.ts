import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ElectorEffect, LeaseWrite } from '../../src/election/machine/effect.ts'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import type { LockSnapshot } from '../../src/lock/lock.ts'
import type { LockFailure } from '../../src/lock/lock-request-error.ts'
import { lease, ME, PureElector } from './pure-elector.ts'

const FAILURES: readonly LockFailure[] = [
  'conflict',
  'not-found',
  'unauthenticated',
  'forbidden',
  'rejected',
  'throttled',
  'unreachable',
  'unknown-outcome',
]

type Sight = 'own' | 'other' | 'renewed' | 'released' | 'absent' | 'twin' | 'stale'

type WriteAnswer = { readonly kind: 'written' } | { readonly kind: 'write-failed'; readonly failure: LockFailure }

type ReadAnswer =
  { readonly kind: 'read'; readonly sight: Sight } | { readonly kind: 'read-failed'; readonly failure: LockFailure }

type Happening =
  | { readonly kind: 'pass' | 'stall'; readonly ms: number }
  | { readonly kind: 'start' | 'stop' | 'watch-up' | 'watch-down' | 'drained' | 'lost' }
  | { readonly kind: 'step-down'; readonly cooldownMs: number }
  | { readonly kind: 'seen'; readonly sight: Sight }
  | WriteAnswer
  | ReadAnswer

const sight = fc.constantFrom<Sight>(
  'own',
  'own',
  'released',
  'released',
  'other',
  'renewed',
  'released',
  'absent',
  'twin',
  'stale',
)
const failure = fc.constantFrom(...FAILURES)
const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 16,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.oneof(fc.integer({ min: 0, max: 3000 }), fc.integer({ min: 0, max: 20_000 })),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stall' as const), ms: fc.integer({ min: 0, max: 30_000 }) }) },
  {
    weight: 16,
    arbitrary: fc.record({ kind: fc.constantFrom('watch-up' as const, 'watch-down' as const, 'lost' as const) }),
  },
  {
    weight: 40,
    arbitrary: fc.record({ kind: fc.constantFrom('drained' as const, 'written' as const, 'written' as const) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('start' as const, 'stop' as const) }) },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('step-down' as const), cooldownMs: fc.constantFrom(0, 100, 5000) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constantFrom('write-failed' as const, 'read-failed' as const), failure }),
  },
  { weight: 20, arbitrary: fc.record({ kind: fc.constantFrom('seen' as const, 'read' as const), sight }) },
)

/** Puts happenings to the machine in a world that keeps no promise but one: each write gets a greater version. */
class Chaos {
  readonly elector: PureElector
  #version = 1n
  #inForce: { epoch: bigint; isEmpty: boolean } | undefined
  #lastEpoch = 0n

  constructor(elector: PureElector) {
    this.elector = elector
    elector.onEffect = (effect) => this.#check(effect)
  }

  meet(happening: Happening): void {
    const { elector } = this
    const wasEnding = elector.state.kind === 'draining' || elector.state.kind === 'aborting'
    if (happening.kind === 'drained' && wasEnding && this.#inForce !== undefined) this.#inForce.isEmpty = true
    this.#put(happening)
  }

  #put(happening: Happening): void {
    const { elector } = this
    switch (happening.kind) {
      case 'pass':
        elector.passTo(elector.now + happening.ms)
        break
      case 'stall':
        elector.stallTo(elector.now + happening.ms)
        break
      case 'step-down':
        elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: happening.cooldownMs })
        break
      case 'lost':
        elector.send({ kind: 'lost', reason: 'stalled' })
        break
      case 'written':
      case 'write-failed':
        this.#answerWrite(happening)
        break
      case 'read':
      case 'read-failed':
        this.#answerRead(happening)
        break
      case 'seen':
        elector.observe(this.#see(happening.sight))
        break
      default:
        elector.send({ kind: happening.kind })
    }
  }

  #answerWrite(answer: WriteAnswer): void {
    if (this.elector.all('write').length === 0) return
    if (answer.kind === 'write-failed') this.elector.failWrite(answer.failure)
    else this.elector.acknowledge(this.#next())
  }

  #answerRead(answer: ReadAnswer): void {
    if (this.elector.all('read').length === 0) return
    if (answer.kind === 'read-failed') this.elector.failRead(answer.failure)
    else this.elector.answerRead(this.#see(answer.sight))
  }

  #see(sight: Sight): LockSnapshot {
    const { elector } = this
    const renewTime = new Date(elector.now).toISOString()
    switch (sight) {
      case 'own':
        return elector.all('write').length === 0 ? { kind: 'absent' } : elector.stored(this.#next())
      case 'other':
        return lease({ version: this.#next(), acquireTime: renewTime })
      case 'renewed':
        return lease({ version: this.#next(), renewTime })
      case 'released':
        return lease({ version: this.#next(), holderIdentity: '', renewTime })
      case 'absent':
        return { kind: 'absent', version: this.#next() }
      case 'twin':
        return lease({ version: this.#next(), holderIdentity: ME, acquireTime: renewTime })
      case 'stale':
        return lease({ version: 0n, holderIdentity: 'ghost' })
      default:
        return sight satisfies never
    }
  }

  #check(effect: ElectorEffect): void {
    if (effect.kind === 'begin-term') this.#checkBeginning(effect)
    if (effect.kind === 'write') this.#checkWrite(effect.write)
    if (effect.kind === 'term-over') this.#checkEnd()
  }

  #checkBeginning({ epoch, validUntil }: Extract<ElectorEffect, { kind: 'begin-term' }>): void {
    if (this.#inForce !== undefined) throw new Error(`Term ${epoch} began inside term ${this.#inForce.epoch}`)
    if (epoch <= this.#lastEpoch) throw new Error(`Epoch ${epoch} came after ${this.#lastEpoch}`)
    if (validUntil <= this.elector.now) throw new Error('A term began after its validity')
    this.#lastEpoch = epoch
    this.#inForce = { epoch, isEmpty: false }
  }

  #checkWrite({ purpose, base }: LeaseWrite): void {
    if (purpose !== 'renew' && this.#inForce?.isEmpty === false) {
      throw new Error(`A write to ${purpose} was sent while tasks of term ${this.#inForce.epoch} may live`)
    }
    const holder = base?.record.holderIdentity
    if (purpose === 'release' && holder !== ME) {
      throw new Error(`A release would clear a lease that \`${holder}\` holds`)
    }
  }

  #checkEnd(): void {
    if (this.#inForce?.isEmpty !== true) throw new Error('A term was over that was not empty')
    this.#inForce = undefined
  }

  #next(): bigint {
    return ++this.#version
  }
}

const PRELUDE: readonly Happening[] = [{ kind: 'start' }, { kind: 'seen', sight: 'released' }, { kind: 'watch-up' }]

const TIMINGS = [{}, { acquireDelayMs: 1000 }, { retryPeriodMs: 300 }].map((options) => resolveTimingOptions(options))

test('whatever happens in whatever order, terms do not nest, epochs grow, and nothing is released over a task', () => {
  const settings = fc.record({
    timing: fc.constantFrom(...TIMINGS),
    releaseOnExit: fc.boolean(),
    missingLease: fc.constantFrom('create' as const, 'wait' as const),
  })
  let terms = 0
  fc.assert(
    fc.property(
      settings,
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      fc.array(happening, { maxLength: 150, size: 'max' }),
      run,
    ),
    { numRuns: 1500, seed: 20_260_101 },
  )
  expect(terms).toBeGreaterThan(500)

  function run(config: ConstructorParameters<typeof PureElector>[0], random: number, happenings: Happening[]): void {
    const elector = new PureElector(config)
    elector.random = random
    const chaos = new Chaos(elector)
    for (const happening of [...PRELUDE, ...happenings]) chaos.meet(happening)
    terms += elector.all('begin-term').length
  }
})

test('an elector that has stopped asks for nothing any more', () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 30 }), fc.array(happening, { maxLength: 20 }), (before, after) => {
      const elector = new PureElector()
      const chaos = new Chaos(elector)
      for (const happening of [...PRELUDE, ...before]) chaos.meet(happening)
      for (const kind of ['stop', 'drained', 'stop'] as const) chaos.meet({ kind })
      elector.passTo(elector.now + 60_000)
      if (elector.state.kind !== 'stopped') return
      const effects = elector.effects.length
      for (const happening of after) chaos.meet(happening)
      expect(elector.effects.length).toBe(effects)
    }),
    { numRuns: 500, seed: 20_260_102 },
  )
})
