import { expect, test } from 'vitest'
import { DeadlineBoard } from '../../src/watchdog/deadline-board.ts'

test('Another view of a board changes nothing of it, so a thread that starts late knows the suspensions that others noticed', () => {
  const board = new DeadlineBoard(2)
  board.set(1, 7n)
  board.now()
  board.ring()
  const before = [...new BigInt64Array(board.memory)]
  const view = new DeadlineBoard(board.memory)
  expect([...new BigInt64Array(board.memory)]).toEqual(before)
  expect(view.earliest()).toEqual({ index: 1, deadline: 7n })
})
