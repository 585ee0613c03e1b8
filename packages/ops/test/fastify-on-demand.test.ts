import { fastify } from 'fastify'
import { expect, test } from 'vitest'
import { loadFastify } from '../src/server/fastify-on-demand.ts'

test('fastify on demand is that of the application', () => {
  expect(loadFastify()).toBe(fastify)
})
