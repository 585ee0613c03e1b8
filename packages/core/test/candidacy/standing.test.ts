import { expect, test } from 'vitest'
import { standingOf } from '../../src/candidacy/standing.ts'
import { lease, PureElector } from '../election/pure-elector.ts'

test('A replica that has not started, or has not seen the lease, is unseen', () => {
  const elector = new PureElector()
  expect([standingOf(undefined), standingOf(elector.state)]).toEqual(['unseen', 'unseen'])
  elector.send({ kind: 'start' })
  expect(elector.state.kind).toBe('following')
  expect(standingOf(elector.state)).toBe('unseen')
})

test('A replica that follows, leads or has stopped stands', () => {
  const elector = new PureElector()
  elector.follow(lease({ version: 1n }))
  expect(standingOf(elector.state)).toBe('standing')
  expect(standingOf(new PureElector().lead().state)).toBe('standing')
  elector.send({ kind: 'stop' })
  expect(standingOf(elector.state)).toBe('standing')
})
