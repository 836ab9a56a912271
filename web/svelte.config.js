export default {
  compilerOptions: {
    runes: true,
    discloseVersion: false,
    // By content, not by path: the same sources make the same files in every folder.
    cssHash: ({ hash, css }) => `s${hash(css)}`,
  },
};
