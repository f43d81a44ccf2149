import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXLattice.ARXNode;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataHandle;
import org.deidentifier.arx.criteria.DistinctLDiversity;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;

/**
 * Full-domain generalization of a table by ARX: the optimum by discernibility, several times in one
 * JVM.
 *
 * <p>Usage: {@code Anonymize TABLE.csv SENSITIVE K L SUPPRESSION RUNS COLUMN=HIERARCHY.csv...}, with
 * L = 0 for k-anonymity alone. Fields are separated by commas; a hierarchy has no header. The last
 * line of the output is a JSON object: the milliseconds of each stage of each run, the megabytes
 * that the process held at most, the sizes of the groups, and the level of each quasi-identifier.
 */
public final class Anonymize {
  private static final OperatingSystemMXBean SYSTEM =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private final Path table;
  private final String sensitive;
  private final int k;
  private final int l;
  private final double suppression;
  private final Map<String, Path> hierarchies = new HashMap<>();

  private Anonymize(String[] arguments) {
    table = Path.of(arguments[0]);
    sensitive = arguments[1];
    k = Integer.parseInt(arguments[2]);
    l = Integer.parseInt(arguments[3]);
    suppression = Double.parseDouble(arguments[4]);
    for (int i = 6; i < arguments.length; i++) {
      String[] pair = arguments[i].split("=", 2);
      hierarchies.put(pair[0], Path.of(pair[1]));
    }
  }

  public static void main(String[] arguments) throws IOException {
    Anonymize task = new Anonymize(arguments);
    int runs = Integer.parseInt(arguments[5]);
    List<String> taken = new ArrayList<>();
    String outcome = "";
    for (int run = 0; run < runs; run++) {
      List<String> stages = new ArrayList<>();
      outcome = task.run(stages, run == runs - 1);
      taken.add("{" + String.join(", ", stages) + "}");
    }
    System.out.printf("{\"runs\": %s, \"peak\": %.1f, %s}%n", taken, peakMegabytes(), outcome);
  }

  /** Does the task once, adds what each stage took, and describes the outcome if that is wanted. */
  private String run(List<String> stages, boolean described) throws IOException {
    Watch watch = new Watch(stages);
    Data data = load();
    watch.stop("load");
    ARXResult result = new ARXAnonymizer().anonymize(data, configuration());
    watch.stop("anonymize");
    if (!result.isResultAvailable()) {
      throw new IllegalStateException("ARX found no solution");
    }
    DataHandle output = result.getOutput(false);
    for (Iterator<String[]> rows = output.iterator(); rows.hasNext(); ) {
      rows.next();
    }
    watch.stop("output");
    String outcome = described ? describe(result, output) : "";
    data.getHandle().release();
    return outcome;
  }

  private Data load() throws IOException {
    Data data = Data.create(table.toFile(), StandardCharsets.UTF_8, ',');
    boolean diverse = l > 0;
    data.getDefinition()
        .setAttributeType(
            sensitive,
            diverse ? AttributeType.SENSITIVE_ATTRIBUTE : AttributeType.INSENSITIVE_ATTRIBUTE);
    for (Map.Entry<String, Path> entry : hierarchies.entrySet()) {
      Hierarchy hierarchy =
          Hierarchy.create(entry.getValue().toFile(), StandardCharsets.UTF_8, ',');
      data.getDefinition().setAttributeType(entry.getKey(), hierarchy);
    }
    data.getHandle(); // reads the rows, and numbers their values
    return data;
  }

  /** The default algorithm searches the whole lattice: it guarantees the optimum. */
  private ARXConfiguration configuration() {
    ARXConfiguration configuration =
        ARXConfiguration.create(suppression, Metric.createDiscernabilityMetric(false));
    configuration.addPrivacyModel(new KAnonymity(k));
    if (l > 0) {
      configuration.addPrivacyModel(new DistinctLDiversity(sensitive, l));
    }
    return configuration;
  }

  private String describe(ARXResult result, DataHandle output) {
    ARXNode best = result.getGlobalOptimum();
    String levels =
        hierarchies.keySet().stream()
            .map(name -> quote(name) + ": " + best.getGeneralization(name))
            .collect(Collectors.joining(", "));
    return String.format(
        "\"optimal\": %s, \"loss\": %s, \"checked\": %d, \"levels\": {%s}, \"sizes\": %s",
        result.getOptimumFound(),
        best.getHighestScore(),
        result.getProcessStatistics().getTransformationsChecked(),
        levels,
        sizes(output));
  }

  /** The number of rows of each group; a suppressed row is in none. */
  private Collection<Integer> sizes(DataHandle output) {
    List<Integer> columns = new ArrayList<>();
    hierarchies.keySet().forEach(name -> columns.add(output.getColumnIndexOf(name)));
    Map<List<String>, Integer> sizes = new HashMap<>();
    for (int row = 0; row < output.getNumRows(); row++) {
      if (!output.isOutlier(row)) {
        List<String> labels = new ArrayList<>(columns.size());
        for (int column : columns) {
          labels.add(output.getValue(row, column));
        }
        sizes.merge(labels, 1, Integer::sum);
      }
    }
    return sizes.values();
  }

  private static String quote(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }

  private static double peakMegabytes() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmHWM:")) {
        return Double.parseDouble(line.replaceAll("\\D", "")) / 1024;
      }
    }
    return 0;
  }

  /** The CPU and wall milliseconds of one stage after the other, of all threads of this process. */
  private static final class Watch {
    private final List<String> stages;
    private long cpu = SYSTEM.getProcessCpuTime();
    private long wall = System.nanoTime();

    Watch(List<String> stages) {
      this.stages = stages;
    }

    void stop(String stage) {
      long cpuNow = SYSTEM.getProcessCpuTime();
      long wallNow = System.nanoTime();
      stages.add(
          String.format(
              "\"%s\": {\"cpu\": %.3f, \"wall\": %.3f}",
              stage, (cpuNow - cpu) / 1e6, (wallNow - wall) / 1e6));
      cpu = cpuNow;
      wall = wallNow;
    }
  }
}
