import { expect, test } from 'vitest'
import { LeadershipEndedError } from '../../src/election/leadership-ended-error.ts'

test('the end of leadership names the term and why it ended, or the controller that needs no leadership', () => {
  expect(new LeadershipEndedError('superseded', 7n).message).toBe('The term with epoch 7 has ended: superseded')
  expect(new LeadershipEndedError('shutdown', undefined).message).toBe('The controller has ended: shutdown')
})
