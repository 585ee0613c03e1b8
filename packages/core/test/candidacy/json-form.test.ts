import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CandidacyEvent } from '../../src/candidacy/events.ts'
import { jsonForm } from '../../src/json-form.ts'
import { WriteGateClosedError } from '../../src/gate/write-gate-closed-error.ts'
import { LeadershipEndedError } from '../../src/election/leadership-ended-error.ts'
import { Replica, untilEnd } from '../support/replica.ts'

const parsed = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('JSON.stringify()', () => {
  test('takes every state, every event and the result of a step-down', async () => {
    const seen: unknown[] = []
    const states: unknown[] = []
    const replica = new Replica({
      onEvent: (event: CandidacyEvent) => {
        seen.push(parsed(event))
        states.push(parsed(replica.candidacy.state))
      },
    }).runs(async (term) => {
      term.defer(() => {
        throw new Error('not closed')
      })
      await untilEnd(term)
    })
    await replica.start()
    const { state } = replica.candidacy
    const epoch = state.kind === 'leading' ? String(state.epoch) : 'none'
    const stepDown = replica.candidacy.stepDown()
    await replica.clock.advance(5000)
    expect(parsed(await stepDown)).toMatchObject({ kind: 'stepped-down', epoch, outcome: 'released' })
    expect(states).toContainEqual({ kind: 'leading', epoch })
    expect(seen).toContainEqual(expect.objectContaining({ kind: 'term-began', lease: 'lease', epoch }))
    expect(seen).toContainEqual(
      expect.objectContaining({
        kind: 'term-over',
        epoch,
        errors: [expect.objectContaining({ name: 'Error', message: 'not closed' })],
      }),
    )
    await replica.candidacy.stop()
  })

  test('takes every error of Tenure that has an epoch', () => {
    const cause = new LeadershipEndedError('shutdown', 7n)
    const error = new WriteGateClosedError(7n, { method: 'PUT', url: '/', outcome: 'not-sent' }, { cause })
    expect(parsed(error)).toMatchObject({
      name: 'WriteGateClosedError',
      code: 'WRITE_GATE_CLOSED',
      message: error.message,
      epoch: '7',
      cause: { name: 'LeadershipEndedError', epoch: '7' },
    })
  })

  test('shows of an error of others what Node says of it, and no field that it was given', () => {
    const part = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', socket: {} })
    const error = new AggregateError([part], 'no address works')
    expect(jsonForm(error)).toEqual({
      name: 'AggregateError',
      message: 'no address works',
      errors: [{ name: 'Error', message: 'refused', code: 'ECONNREFUSED' }],
    })
  })

  test('leaves objects to themselves that have a form of their own', () => {
    const at = new Date(0)
    expect(jsonForm({ at, plain: Object.assign(Object.create(null) as object, { epoch: 7n }) })).toEqual({
      at,
      plain: { epoch: '7' },
    })
  })

  test('takes whatever a controller throws', () => {
    const values = fc.anything({
      withBigInt: true,
      withNullPrototype: true,
      withDate: true,
      withMap: true,
      maxDepth: 4,
    })
    fc.assert(
      fc.property(values, (thrown) => {
        expect(() => JSON.stringify(jsonForm({ kind: 'controller-failed', error: thrown }))).not.toThrow()
      }),
    )
  })

  test('takes an error that is its own cause', () => {
    const error = new Error('round')
    error.cause = error
    expect(parsed(jsonForm({ error }))).toEqual({ error: { name: 'Error', message: 'round', cause: '[circular]' } })
  })
})
