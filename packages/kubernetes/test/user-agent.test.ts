import { createRequire } from 'node:module'
import { expect, test, vi } from 'vitest'
import { defaultUserAgent } from '../src/client/user-agent.ts'

vi.mock('node:module', { spy: true })

test('the user agent names the version', () => {
  expect(defaultUserAgent()).toMatch(/^tenure\/\d+\.\d+\.\d+\S* leader-election$/)
})

test('the user agent of a program that was bundled, without the package beside it, does not know it', () => {
  vi.mocked(createRequire).mockReturnValueOnce((() => {
    throw new Error('Cannot find module')
  }) as unknown as NodeJS.Require)
  expect(defaultUserAgent()).toBe('tenure/unknown leader-election')
})
