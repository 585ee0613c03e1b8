import { createRequire } from 'node:module'
import type { fastify } from 'fastify'

const require = createRequire(import.meta.url)

/** Returns fastify, and loads it at the first call: a manager without an operations port does not need it. */
export function loadFastify(): typeof fastify {
  return require('fastify')
}
