/* A page without a map is ready once its lists are. */
root.dataset.ready = "true";
