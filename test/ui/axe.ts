import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The violations that axe finds in a page: the rule and the first element of each. */
export async function violationsIn(page: Page): Promise<readonly string[]> {
  // The policy of the page allows no script of ours in it, but evaluation by the debugger.
  await page.evaluate(SOURCE)
  const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>('axe.run()')
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
}
