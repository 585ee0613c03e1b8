import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

/*
 * Bundles what a service imports: one file per entry point instead of some 360 modules, which makes `import 'tenure'` twice as fast. The
 * compiler has written the types. Dependencies, and the other packages, stay imports.
 */
const PACKAGES = ['core', 'kubernetes', 'ops', 'tenure']

/** The files in `dist` that package.json names, by their path without the extension. */
function entriesOf(folder: string): Readonly<Record<string, string>> {
  const files = readFileSync(join(folder, 'package.json'), 'utf8').matchAll(/"\.\/dist\/([^"]+)\.js"/g)
  return Object.fromEntries([...files].map(([, path = '']) => [path, join(folder, 'src', `${path}.ts`)]))
}

async function bundle(folder: string): Promise<void> {
  const input = entriesOf(folder)
  for (const file of globSync(join(folder, 'dist/**/*.js{,.map}'))) rmSync(file)
  const build = await rolldown({
    input,
    platform: 'node',
    external: (id) => !id.startsWith('.') && !id.startsWith('/'),
    transform: { target: 'es2023' },
  })
  await build.write({
    dir: join(folder, 'dist'),
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
    sourcemap: true,
  })
  await build.close()
  const missing = Object.keys(input).filter((path) => !existsSync(join(folder, 'dist', `${path}.js`)))
  if (missing.length > 0) throw new Error(`Expected ${folder} to contain dist/${missing.join('.js, dist/')}.js`)
}

await Promise.all(PACKAGES.map((name) => bundle(join(import.meta.dirname, '../packages', name))))
