import { defineConfig } from 'vitepress'
import { SIDEBAR } from '../src/sidebar.ts'
import { SIMULATOR } from '../src/stage.ts'

export default defineConfig({
  title: 'Tenure',
  description: 'Graceful leader transition for Node',
  srcDir: '.cache/pages',
  cacheDir: '.cache/vitepress',
  outDir: 'dist',
  // Types in running text, such as `Map<string, Term>`, are no tags.
  markdown: { html: false },
  themeConfig: {
    nav: [
      { text: 'Get started', link: '/get-started' },
      { text: 'Guide', link: '/guide' },
      { text: 'Reference', link: '/reference/options' },
      { text: 'Simulator', link: `/${SIMULATOR}/index.html`, target: '_self' },
    ],
    sidebar: SIDEBAR.map(({ items, ...group }) => ({ ...group, items: [...items] })),
    outline: [2, 3],
    search: { provider: 'local' },
  },
})
