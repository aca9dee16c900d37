// Copy buttons, a filter for the contents, and where the reader is. The pages are whole without it.

for (const figure of document.querySelectorAll('figure.code')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  const say = (word) => {
    button.textContent = word;
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  };
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(figure.querySelector('pre').textContent).then(() => say('Copied'), () => say('Not allowed'));
  });
  figure.append(button);
}

const contents = document.querySelector('.contents');
const narrow = matchMedia('(max-width: 64rem)');
const fit = () => { contents.open = !narrow.matches; };
fit();
narrow.addEventListener('change', fit);
contents.addEventListener('click', ({ target }) => { if (narrow.matches && target.closest('a')) contents.open = false; });

const find = contents.querySelector('input');
find.hidden = false;
find.addEventListener('input', () => {
  const wanted = find.value.trim().toLowerCase();
  for (const section of contents.querySelectorAll('section')) {
    const whole = section.querySelector('h2').textContent.toLowerCase().includes(wanted);
    let found = whole;
    for (const item of section.querySelectorAll('li')) {
      const here = whole || `${item.textContent} ${item.firstChild.hash}`.toLowerCase().includes(wanted);
      item.hidden = !here;
      found ||= here;
    }
    section.hidden = !found;
  }
});

const links = new Map([...contents.querySelectorAll('a')].map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
const watcher = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    contents.querySelector('[aria-current]')?.removeAttribute('aria-current');
    links.get(target.id)?.setAttribute('aria-current', 'true');
  }
}, { rootMargin: '-20% 0px -70%' });
for (const id of links.keys()) {
  const target = document.getElementById(id);
  if (target) watcher.observe(target);
}

const reveal = () => document.getElementById(decodeURIComponent(location.hash.slice(1)))?.querySelector(':scope > details')?.setAttribute('open', '');
addEventListener('hashchange', reveal);
reveal();
